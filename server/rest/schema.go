package rest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"ionclaw-tray/app/secret"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/task"
)

// shapes collects the JSON schemas of Go types under their names.
type shapes struct {
	named map[string]*jsonschema.Schema
	types map[string]reflect.Type
}

func newShapes() *shapes {
	return &shapes{named: map[string]*jsonschema.Schema{}, types: map[string]reflect.Type{}}
}

// written are types whose JSON form is not that of their Go fields.
var written = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[session.Key]():     {Type: "string", Description: "channel:uuid"},
	reflect.TypeFor[session.Time]():    {Type: "string", Format: "date-time"},
	reflect.TypeFor[json.RawMessage](): {Type: "object"},
	reflect.TypeFor[session.Role]():    enum(session.RoleUser, session.RoleAssistant, session.RoleTool, session.RoleSystem),
	reflect.TypeFor[task.State]():      enum(task.States...),
	reflect.TypeFor[secret.Source]():   enum(secret.SourceEnvironment, secret.SourceDirectory, secret.SourceKeyring, secret.SourceAge),
}

func enum[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// ref returns a reference to the schema of a type.
func (s *shapes) ref(t reflect.Type) openSchema {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if other, ok := s.types[name]; ok && other != t {
		panic(fmt.Sprintf("two shapes are named %s: %v and %v", name, other, t))
	}
	if _, ok := s.types[name]; !ok {
		schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: written})
		if err != nil { // a type that has no JSON form cannot be in the table
			panic(fmt.Sprintf("describing %v: %v", t, err))
		}
		walk(schema, listsAreThere)
		s.named[name], s.types[name] = schema, t
	}
	return openSchema{Ref: "#/components/schemas/" + name}
}

// bodyRef is ref for a body: a field that may be null may as well be absent.
func (s *shapes) bodyRef(t reflect.Type) openSchema {
	ref := s.ref(t)
	walk(s.named[strings.TrimPrefix(ref.Ref, "#/components/schemas/")], func(schema *jsonschema.Schema) {
		schema.Required = slices.DeleteFunc(schema.Required, func(name string) bool {
			return slices.Contains(schema.Properties[name].Types, "null")
		})
	})
	return ref
}

// listsAreThere makes lists that Go could leave nil plain lists: answers always have them.
func listsAreThere(s *jsonschema.Schema) {
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Type, s.Types = "array", nil
	}
}

// walk visits a schema and those below it.
func walk(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	if s == nil {
		return
	}
	visit(s)
	walk(s.Items, visit)
	for _, p := range s.Properties {
		walk(p, visit)
	}
}
