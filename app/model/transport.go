package model

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Limits of connections to providers.
const (
	dialLimit      = 10 * time.Second // per address, name resolution included
	tlsLimit       = 10 * time.Second
	idleLimit      = 90 * time.Second // how long an unused connection is kept
	idlePerHost    = 16
	pingAfter      = 15 * time.Second // HTTP/2: finds connections that died while the machine slept
	maxErrorBody   = 64 << 10         // how much of a refusal is read
	maxListingBody = 16 << 20         // how much of a list of models is read
)

// sharedClient serves all providers of all routers, so that a change of the configuration keeps connections open.
// Redirects are not followed: the request carries a key, and one to another host would hand it over.
var sharedClient = &http.Client{
	Transport:     newTransport(http.ProxyFromEnvironment),
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// newTransport makes the transport. proxy is asked for every address that is not loopback.
func newTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			if Loopback(r.URL.Hostname()) {
				return nil, nil
			}
			return proxy(r)
		},
		DialContext:         (&net.Dialer{Timeout: dialLimit, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: tlsLimit,
		MaxIdleConns:        4 * idlePerHost,
		MaxIdleConnsPerHost: idlePerHost,
		IdleConnTimeout:     idleLimit,
		DisableCompression:  true, // a compressed stream arrives in lumps
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAfter},
	}
}

// Loopback reports whether a host, without port, is this machine: localhost, a name below it, or a loopback address.
func Loopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.Unmap().IsLoopback()
}

// doer sends requests for the vendors' libraries and turns every refusal into a *refusal, because those libraries lose
// the status when a body is not the JSON they expect, and read bodies of any size.
type doer struct {
	client *http.Client
	key    string // removed from what the provider answers
}

// Do implements the HTTPClient of both libraries.
func (d doer) Do(req *http.Request) (*http.Response, error) {
	res, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if ctxErr := req.Context().Err(); ctxErr != nil {
		return nil, ctxErr
	}
	if err != nil && len(body) == 0 {
		body = nil // the status says enough
	}
	r := parseRefusal(body, d.key)
	r.Status = res.StatusCode
	r.RetryAfter = retryAfter(res.Header, time.Now())
	return nil, r
}

// drainLimit is how long a finished answer waits for its connection to become reusable.
const drainLimit = 100 * time.Millisecond

// drain reads what follows a finished answer, normally nothing, so that the connection can be used again. A provider
// that keeps the stream open loses the connection instead.
func drain(body io.Reader, cancel context.CancelCauseFunc) {
	t := time.AfterFunc(drainLimit, func() { cancel(context.Canceled) })
	defer t.Stop()
	io.Copy(io.Discard, io.LimitReader(body, maxErrorBody)) //nolint:errcheck // only the connection is at stake
}
