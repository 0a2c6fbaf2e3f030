package rest

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/go-chi/chi/v5"

	"ionclaw-tray/app"
)

// route is one row of the table: all that the router and the OpenAPI document need to know.
type route struct {
	method  string
	path    string // below Base; parameters as {name}
	open    bool   // needs no token
	summary string
	query   []param
	handler
}

// handler does the work of a route and knows the shapes that go in and out.
type handler struct {
	body   reflect.Type // nil: none
	answer reflect.Type
	raw    bool   // answer has no shape of its own: any JSON object
	stream string // what is sent as server-sent events; "": never
	text   string // media type of an answer that is text; "": never
	serve  func(*call) error
}

// answering makes the handler of a route without a body.
func answering[A any](f func(*call) (A, error)) handler {
	return handler{answer: reflect.TypeFor[A](), serve: func(c *call) error {
		if err := c.noBody(); err != nil {
			return err
		}
		v, err := f(c)
		if err != nil {
			return err
		}
		return c.write(v)
	}}
}

// taking makes the handler of a route with a body.
func taking[B, A any](f func(*call, B) (A, error)) handler {
	return handler{body: reflect.TypeFor[B](), answer: reflect.TypeFor[A](), serve: func(c *call) error {
		body, err := decode[B](c)
		if err != nil {
			return err
		}
		v, err := f(c, body)
		if err != nil {
			return err
		}
		return c.write(v)
	}}
}

// router builds the routes of the table. Whatever is not in it is answered behind the token as well: a stranger does
// not learn what there is.
func (a *api) router() *chi.Mux {
	mux := chi.NewRouter()
	for _, rt := range a.table {
		door := a.guard.token
		if rt.open {
			door = a.guard.open
		}
		mux.Method(rt.method, Base+rt.path, door(a.endpoint(rt)))
	}
	mux.NotFound(a.guard.token(http.HandlerFunc(a.notFound)).ServeHTTP)
	mux.MethodNotAllowed(a.guard.token(http.HandlerFunc(a.wrongMethod)).ServeHTTP)
	return mux
}

// endpoint runs one route: query, handler, and the answer to its error.
func (a *api) endpoint(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{api: a, w: w, r: r}
		var err error
		if c.query, err = parseQuery(r.URL.RawQuery, rt.query); err == nil {
			err = rt.serve(c)
		}
		if err != nil {
			c.fail(err)
		}
	})
}

func (a *api) notFound(w http.ResponseWriter, r *http.Request) {
	writeError(w, &app.Error{Code: app.CodeNotFound, Message: "there is nothing at this path", Hint: "GET " + Base + "/openapi.json lists what there is"})
}

func (a *api) wrongMethod(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	var allow []string
	for method := range strings.SplitSeq(methods, ", ") {
		if a.mux.Match(chi.NewRouteContext(), method, path) {
			allow = append(allow, method)
		}
	}
	if len(allow) == 0 { // a method that nobody knows, on a path that is not there
		a.notFound(w, r)
		return
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	writeError(w, &app.Error{Code: app.CodeMethod, Message: "this path does not have the method " + shown(r.Method), Hint: "use " + strings.Join(allow, " or ")})
}
