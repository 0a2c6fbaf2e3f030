package mcp

import "sync"

// maxPooled is the largest buffer kept for reuse; a rare huge answer must not stay in memory.
const maxPooled = 64 << 10

var bufferPool = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

func takeBuffer() []byte { return (*bufferPool.Get().(*[]byte))[:0] }

func giveBuffer(b []byte) {
	if cap(b) > 0 && cap(b) <= maxPooled {
		bufferPool.Put(&b)
	}
}
