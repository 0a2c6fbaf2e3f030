package store
func crashChild() {}
func fullChild() {}
func holdChild() {}
