package rest

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"ionclaw-tray/app"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
)

// Formats of an export.
const (
	formatMarkdown = "markdown"
	formatJSON     = "json"
	markdownType   = "text/markdown; charset=utf-8"
)

// exporting makes the handler that gives a whole chat away as a file.
func (a *api) exporting() handler {
	return handler{answer: reflect.TypeFor[sessionView](), text: markdownType, serve: func(c *call) error {
		if err := c.noBody(); err != nil {
			return err
		}
		key, err := c.key()
		if err != nil {
			return err
		}
		view, err := a.whole(key)
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(key.String(), ":")
		name += "-" + key.ID
		if c.query.text("format") == formatJSON {
			c.attach(name + ".json")
			return c.write(sessionView{view.Info, list(view.History)})
		}
		c.attach(name + ".md")
		text := session.Markdown(view.Info, view.History)
		c.w.Header().Set("Content-Type", markdownType)
		c.w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		c.w.WriteHeader(http.StatusOK)
		_, _ = c.w.Write([]byte(text)) // a client that is gone needs no answer
		return nil
	}}
}

// attach tells the name under which the answer is saved; it holds nothing that would need quoting.
func (c *call) attach(name string) {
	c.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// whole reads a chat with all its messages, oldest first. Pages are read from the end, where messages are added.
func (a *api) whole(key session.Key) (app.SessionView, error) {
	var pages [][]session.Message
	var first app.SessionView
	for before := uint64(0); before != 1; {
		view, err := a.core.Session(key, store.MessageQuery{Limit: store.MaxMessages, Before: before})
		if err != nil {
			return app.SessionView{}, err
		}
		if before == 0 {
			first = view
		}
		if len(view.History) == 0 {
			break
		}
		pages = append(pages, view.History)
		before = view.History[0].Seq
	}
	slices.Reverse(pages)
	first.History = slices.Concat(pages...)
	return first, nil
}
