package mcp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Content is one block of a tool result. Build it with [Text], [Image], [Audio], [ResourceLink] or [Embedded].
type Content struct {
	kind     contentKind
	text     string // of text
	data     []byte // of image and audio
	mimeType string
	link     Resource
	embedded ResourceContents
}

type contentKind uint8

const (
	contentText contentKind = iota
	contentImage
	contentAudio
	contentLink
	contentEmbedded
)

// Text is a block of plain text.
func Text(text string) Content { return Content{text: text} }

// Image is a picture; data are the raw bytes.
func Image(data []byte, mimeType string) Content {
	return Content{kind: contentImage, data: data, mimeType: mimeType}
}

// Audio is a sound; data are the raw bytes.
func Audio(data []byte, mimeType string) Content {
	return Content{kind: contentAudio, data: data, mimeType: mimeType}
}

// ResourceLink points to a resource that the client may read.
func ResourceLink(r Resource) Content { return Content{kind: contentLink, link: r} }

// Embedded carries the content of a resource itself.
func Embedded(c ResourceContents) Content { return Content{kind: contentEmbedded, embedded: c} }

// ResourceContents is what a resource holds: Blob when it is not nil, Text otherwise.
type ResourceContents struct {
	URI      string
	MIMEType string
	Text     string
	Blob     []byte
}

// Result is what a tool gives back. The zero value is a success without content.
type Result struct {
	Content []Content
	// StructuredContent is a JSON object that matches the tool's OutputSchema, or nil.
	StructuredContent json.RawMessage
	// IsError marks a failure that the model should read, as opposed to a fault of the protocol.
	IsError bool
	// Meta becomes _meta. Values must be marshallable.
	Meta map[string]any
}

// TextResult is a result of one text block.
func TextResult(text string) *Result { return &Result{Content: []Content{Text(text)}} }

// ErrorResult is a failed result whose text the model reads.
func ErrorResult(text string) *Result {
	return &Result{Content: []Content{Text(text)}, IsError: true}
}

var errStructured = errors.New("structured content is not a JSON object")

func appendResult(buf []byte, r *Result) ([]byte, error) {
	buf = append(buf, `{"content":[`...)
	for i := range r.Content {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendContent(buf, &r.Content[i])
	}
	buf = append(buf, ']')
	if r.StructuredContent != nil {
		if err := checkJSON(r.StructuredContent); err != nil || kindOf(r.StructuredContent) != kindObject {
			return buf, errStructured
		}
		buf = append(append(buf, `,"structuredContent":`...), r.StructuredContent...)
	}
	if r.IsError {
		buf = append(buf, `,"isError":true`...)
	}
	if len(r.Meta) > 0 {
		var err error
		if buf, err = appendMeta(buf, r.Meta); err != nil {
			return buf, err
		}
	}
	return append(buf, '}'), nil
}

func appendMeta(buf []byte, meta map[string]any) ([]byte, error) {
	buf = append(buf, `,"_meta":{`...)
	for i, key := range slices.Sorted(maps.Keys(meta)) {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(appendString(buf, key), ':')
		if s, ok := meta[key].(string); ok {
			buf = appendString(buf, s)
			continue
		}
		value, err := json.Marshal(meta[key])
		if err != nil {
			return buf, fmt.Errorf("encoding _meta %s: %w", key, err)
		}
		buf = append(buf, value...)
	}
	return append(buf, '}'), nil
}

func appendContent(buf []byte, c *Content) []byte {
	switch c.kind {
	case contentImage, contentAudio:
		name := "image"
		if c.kind == contentAudio {
			name = "audio"
		}
		buf = append(append(append(buf, `{"type":"`...), name...), `","data":"`...)
		buf = base64.StdEncoding.AppendEncode(buf, c.data)
		buf = append(buf, `","mimeType":`...)
		return append(appendString(buf, c.mimeType), '}')
	case contentLink:
		buf = append(buf, `{"type":"resource_link",`...)
		return append(appendResourceMembers(buf, &c.link), '}')
	case contentEmbedded:
		buf = append(buf, `{"type":"resource","resource":`...)
		return append(appendResourceContents(buf, &c.embedded), '}')
	}
	return append(appendString(append(buf, `{"type":"text","text":`...), c.text), '}')
}

func appendResourceContents(buf []byte, c *ResourceContents) []byte {
	buf = appendString(append(buf, `{"uri":`...), c.URI)
	if c.MIMEType != "" {
		buf = appendString(append(buf, `,"mimeType":`...), c.MIMEType)
	}
	if c.Blob != nil {
		buf = base64.StdEncoding.AppendEncode(append(buf, `,"blob":"`...), c.Blob)
		return append(buf, `"}`...)
	}
	return append(appendString(append(buf, `,"text":`...), c.Text), '}')
}

func appendResourceMembers(buf []byte, r *Resource) []byte {
	buf = appendString(append(buf, `"uri":`...), r.URI)
	buf = appendString(append(buf, `,"name":`...), r.Name)
	return appendDescription(buf, r.Title, r.Description, r.MIMEType)
}

func appendDescription(buf []byte, title, description, mimeType string) []byte {
	for _, m := range [...][2]string{{"title", title}, {"description", description}, {"mimeType", mimeType}} {
		if m[1] != "" {
			buf = append(append(append(buf, `,"`...), m[0]...), `":`...)
			buf = appendString(buf, m[1])
		}
	}
	return buf
}
