// Package mcp serves the Model Context Protocol over Streamable HTTP, for the revisions with sessions: 2024-11-05,
// 2025-03-26, 2025-06-18 and 2025-11-25. It knows tools and resources only through the interfaces it is given.
//
// A request travels one way: ServeHTTP reads the body, the codec splits it into message parts that stay raw bytes, the
// session is looked up, and the method either answers at once or starts a [Call]. A call runs in its own goroutine and
// writes into a stream, a bounded ring of finished frames; the HTTP request pulls frames from the ring by position.
// That is why a slow or vanished reader never holds up a tool, and why a client can come back with Last-Event-ID.
//
// Sessions are plain records without goroutines or timers of their own. They survive a restart through a
// [SessionStore]; streams and calls do not.
//
// Host, Origin, authorisation and the body limit are checked by whatever wraps the handler; it tells the credential
// through [WithCredential].
package mcp
