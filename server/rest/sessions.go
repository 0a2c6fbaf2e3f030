package rest

import (
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/store"
)

type sessionList struct {
	Sessions []session.Info `json:"sessions"`
	Next     string         `json:"next_cursor,omitempty"`
}

// sessionView is a chat with a part of its messages, which stand in place of their number.
type sessionView struct {
	session.Info
	Messages []session.Message `json:"messages"`
}

type sessionName struct {
	DisplayName string `json:"display_name"`
}

func (a *api) sessions(c *call) (sessionList, error) {
	page, err := a.core.Sessions(store.SessionQuery{
		Limit: c.query.int("limit"), Cursor: c.query.text("cursor"),
		Channel: c.query.text("channel"), Query: c.query.text("query"),
	})
	return sessionList{list(page.Sessions), page.Next}, err
}

func (a *api) session(c *call) (sessionView, error) {
	key, err := c.key()
	if err != nil {
		return sessionView{}, err
	}
	view, err := a.core.Session(key, store.MessageQuery{Limit: c.query.int("limit"), Before: c.query.number("before")})
	return sessionView{view.Info, list(view.History)}, err
}

func (a *api) renameSession(c *call, body sessionName) (session.Info, error) {
	key, err := c.key()
	if err != nil {
		return session.Info{}, err
	}
	if err := a.core.RenameSession(c.ctx(), key, body.DisplayName); err != nil {
		return session.Info{}, err
	}
	view, err := a.core.Session(key, store.MessageQuery{Limit: 1})
	return view.Info, err
}

func (a *api) deleteSession(c *call) (outcome, error) {
	key, err := c.key()
	if err != nil {
		return outcome{}, err
	}
	found, err := a.core.DeleteSession(c.ctx(), key)
	return done(found, "deleted", "not_found"), err
}

func (a *api) abortSession(c *call) (outcome, error) {
	key, err := c.key()
	if err != nil {
		return outcome{}, err
	}
	active, err := a.core.Abort(c.ctx(), key)
	return done(active, "aborted", "no_active_turn"), err
}
