package secret

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
)

// Handler returns a slog.Handler that redacts messages and attributes, of every kind and in groups of any depth,
// before h sees them. What holds no key arrives unchanged, with its own type.
func (r *Redactor) Handler(h slog.Handler) slog.Handler { return &handler{r, h} }

type handler struct {
	redactor *Redactor
	next     slog.Handler
}

var _ slog.Handler = (*handler)(nil)

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	if h.redactor.known() == nil {
		return h.next.Handle(ctx, record)
	}
	clean := slog.NewRecord(record.Time, record.Level, h.redactor.Redact(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.redactor.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.redactor.attr(a)
	}
	return &handler{h.redactor, h.next.WithAttrs(clean)}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.redactor, h.next.WithGroup(h.redactor.Redact(name))}
}

func (r *Redactor) attr(a slog.Attr) slog.Attr {
	return slog.Attr{Key: r.Redact(a.Key), Value: r.value(a.Value)}
}

func (r *Redactor) value(v slog.Value) slog.Value {
	v = v.Resolve() // also survives a LogValue that panics
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(r.Redact(v.String()))
	case slog.KindGroup:
		group := v.Group()
		clean := make([]slog.Attr, len(group))
		for i, a := range group {
			clean[i] = r.attr(a)
		}
		return slog.GroupValue(clean...)
	case slog.KindInt64, slog.KindUint64, slog.KindFloat64: // a key may consist of digits
		if s := v.String(); r.Redact(s) != s {
			return slog.StringValue(r.Redact(s))
		}
		return v
	case slog.KindAny:
		return r.any(v)
	}
	return v
}

// any looks at a value in every form in which a handler could write it, and replaces it by its text if one holds a key.
func (r *Redactor) any(v slog.Value) slog.Value {
	x := v.Any()
	switch x := x.(type) {
	case nil:
		return v
	case []byte:
		if s := string(x); r.Redact(s) != s {
			return slog.StringValue(r.Redact(s))
		}
	}
	text, marshalled, ok := texts(x)
	clean := r.Redact(text)
	if ok && clean == text && r.Redact(marshalled) == marshalled {
		return v
	}
	return slog.StringValue(clean)
}

// texts gives the forms that slog's own handlers write: the text, and the JSON. Where it is not ok to print the value,
// because it contains itself or its own code panics, text is its type.
func texts(x any) (text, marshalled string, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			text, ok = fmt.Sprintf("%T (cannot be printed)", x), false
		}
	}()
	b, err := json.Marshal(x)
	marshalled = string(b)
	var cycle *json.UnsupportedValueError
	if errors.As(err, &cycle) {
		return fmt.Sprintf("%T (cannot be printed: %v)", x, err), "", false
	}
	switch x := x.(type) {
	case encoding.TextMarshaler:
		if b, err := x.MarshalText(); err == nil {
			return string(b), marshalled, true
		}
	case []byte:
		return string(x), marshalled, true
	}
	return fmt.Sprintf("%+v", x), marshalled, true
}
