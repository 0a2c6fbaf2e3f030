// Package secret keeps credentials and keeps them out of sight.
//
// A Vault answers for a credential's name with its key. It reads, in this order, the environment variable
// IONCLAW_CREDENTIAL_<NAME>, a file in $CREDENTIALS_DIRECTORY, the keyring of the operating system and a file that is
// encrypted with age. It writes to the keyring and, where there is none, to the encrypted file; it never writes a key
// in plain text, and it never moves on to another place because a person declined to unlock one.
//
// Keyrings may ask a person, may hang and cannot be interrupted. Every call to one therefore runs in a goroutine of
// its own, one at a time, with a limit; callers wait with their context, and nobody holds a lock meanwhile. On systems
// with the Secret Service the state of the keyring is asked first over a connection of our own, which cannot prompt,
// and a locked one is unlocked there: its prompt may outlive the call that wanted it, and its answer serves the next.
//
// Every key that passes through a Vault is made known to its Redactor, which takes keys, their usual encodings and
// their beginnings out of log records and of anything written through it.
package secret
