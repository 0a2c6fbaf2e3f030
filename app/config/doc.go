// Package config reads, checks, changes and watches config.yml, the one source of truth for agents, providers and
// channels.
//
// Reading goes one way: bytes → YAML nodes (positions kept) → ${VAR} expanded → *Config, an immutable snapshot.
// Every problem found on that way is reported, with line, column and the next step.
//
// Writing never goes back through a *Config. An Edit names one node by its path; the text of that node alone is spliced
// into the bytes that are on disk at that moment, so that comments, order, quoting, indentation and references such as
// ${VAR} stay what their author made them. The result is parsed again and refused if anything else changed its meaning.
// Then the file is replaced as a whole: a reader sees the old file or the new one.
//
// A File ties both together: it holds the configuration in force, applies edits and follows changes made by others.
package config
