package rest

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"ionclaw-tray/app/event"
)

// Parts of an OpenAPI 3.1 document, as far as this API needs them (spec.openapis.org/oas/v3.1.1).
type (
	openDocument struct {
		OpenAPI    string                              `json:"openapi"`
		Info       openInfo                            `json:"info"`
		Security   []map[string][]string               `json:"security"`
		Paths      map[string]map[string]openOperation `json:"paths"`
		Components openComponents                      `json:"components"`
	}
	openInfo struct {
		Title       string `json:"title"`
		Description string `json:"description"`
		Version     string `json:"version"`
	}
	openOperation struct {
		Summary    string                   `json:"summary"`
		Security   *[]map[string][]string   `json:"security,omitempty"` // an empty list: no token
		Parameters []openParameter          `json:"parameters,omitempty"`
		Body       *openBody                `json:"requestBody,omitempty"`
		Responses  map[string]*openResponse `json:"responses"`
		Events     map[string]*openSchema   `json:"x-events,omitempty"` // shapes of data by the name of the event
	}
	openParameter struct {
		Name        string     `json:"name"`
		In          string     `json:"in"`
		Required    bool       `json:"required,omitempty"`
		Description string     `json:"description,omitempty"`
		Schema      openSchema `json:"schema"`
	}
	openBody struct {
		Required bool                 `json:"required"`
		Content  map[string]openMedia `json:"content"`
	}
	openResponse struct {
		Description string               `json:"description"`
		Content     map[string]openMedia `json:"content"`
	}
	openMedia struct {
		Schema openSchema `json:"schema"`
	}
	openSchema struct {
		Ref       string   `json:"$ref,omitempty"`
		Type      string   `json:"type,omitempty"`
		Minimum   *uint64  `json:"minimum,omitempty"`
		Maximum   *uint64  `json:"maximum,omitempty"`
		Default   *uint64  `json:"default,omitempty"`
		Enum      []string `json:"enum,omitempty"`
		MaxLength *int     `json:"maxLength,omitempty"`
	}
	openComponents struct {
		Schemas  map[string]*jsonschema.Schema `json:"schemas"`
		Security map[string]openSecurity       `json:"securitySchemes"`
	}
	openSecurity struct {
		Type        string `json:"type"`
		Scheme      string `json:"scheme"`
		Description string `json:"description"`
	}
)

const (
	jsonType  = "application/json"
	tokenName = "token"
)

// published are all events there are.
var published = []event.Event{
	event.TurnDelta{}, event.TurnActivity{}, event.MessageAdded{}, event.SessionChanged{}, event.SessionDeleted{},
	event.TaskChanged{}, event.ConfigChanged{}, event.ConfigRejected{}, event.ChannelChanged{}, event.ClientsChanged{},
}

func (a *api) document() handler {
	return handler{raw: true, serve: func(c *call) error {
		if err := c.noBody(); err != nil {
			return err
		}
		return c.write(json.RawMessage(a.doc()))
	}}
}

// openAPI describes the routes of a table. Shapes come from the types that the handlers use.
func openAPI(table []route, version string) []byte {
	shapes := newShapes()
	d := openDocument{
		OpenAPI: "3.1.1",
		Info: openInfo{Title: "IonClaw local API", Version: version, Description: "For programs of the user who runs IonClaw. " +
			"Address and token are in instance.json. Every error is {\"error\":{\"code\",\"message\",\"hint\"}}."},
		Security: []map[string][]string{{tokenName: {}}},
		Paths:    map[string]map[string]openOperation{},
	}
	failure := &openResponse{Description: "What went wrong and what to do.", Content: map[string]openMedia{
		jsonType: {shapes.ref(reflect.TypeFor[problem]())},
	}}
	for _, rt := range table {
		path := Base + rt.path
		if d.Paths[path] == nil {
			d.Paths[path] = map[string]openOperation{}
		}
		op := rt.operation(shapes)
		op.Responses["default"] = failure
		d.Paths[path][strings.ToLower(rt.method)] = op
	}
	d.Components = openComponents{Schemas: shapes.named, Security: map[string]openSecurity{
		tokenName: {Type: "http", Scheme: "bearer", Description: "The token of instance.json, new with each run."},
	}}
	data, err := encode(d)
	if err != nil { // fixed types: a mistake in the table
		panic("encoding the OpenAPI document: " + err.Error())
	}
	return data
}

func (rt route) operation(shapes *shapes) openOperation {
	op := openOperation{Summary: rt.summary, Parameters: rt.parameters(), Responses: map[string]*openResponse{}}
	if rt.open {
		op.Security = &[]map[string][]string{}
	}
	if rt.body != nil {
		op.Body = &openBody{Required: true, Content: map[string]openMedia{jsonType: {shapes.bodyRef(rt.body)}}}
	}
	ok := &openResponse{Description: "Done.", Content: map[string]openMedia{}}
	if rt.answer != nil {
		ok.Content[jsonType] = openMedia{shapes.ref(rt.answer)}
	}
	if rt.raw {
		ok.Content[jsonType] = openMedia{openSchema{Type: "object"}}
	}
	if rt.text != "" {
		ok.Content[rt.text] = openMedia{openSchema{Type: "string"}}
	}
	if rt.stream != "" {
		ok.Description = rt.stream
		ok.Content[eventStream] = openMedia{openSchema{Type: "string"}}
	}
	if rt.stream != "" && rt.answer == nil {
		op.Parameters = append(op.Parameters, openParameter{Name: lastEventID, In: "header",
			Description: "The id of the last event that was received.", Schema: openSchema{Type: "string"}})
		op.Events = map[string]*openSchema{}
		for _, e := range published {
			ref := shapes.ref(reflect.TypeOf(e))
			op.Events[e.Type()] = &ref
		}
	}
	op.Responses["200"] = ok
	return op
}

func (rt route) parameters() []openParameter {
	var all []openParameter
	for part := range strings.SplitSeq(rt.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			all = append(all, openParameter{Name: strings.TrimSuffix(name, "}"), In: "path", Required: true, Schema: openSchema{Type: "string"}})
		}
	}
	for _, p := range rt.query {
		all = append(all, openParameter{Name: p.name, In: "query", Description: p.about, Schema: p.schema()})
	}
	return all
}

func (p param) schema() openSchema {
	if p.number() {
		s := openSchema{Type: "integer", Minimum: &p.min, Maximum: &p.max}
		if p.byDefault > 0 {
			s.Default = &p.byDefault
		}
		return s
	}
	s := openSchema{Type: "string", Enum: p.oneOf}
	if p.oneOf == nil {
		limit := p.limit()
		s.MaxLength = &limit
	}
	return s
}
