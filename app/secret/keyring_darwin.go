package secret

// platformProber knows nothing: asking the keychain for its state can prompt by itself.
func platformProber() prober { return blind{} }

// platformPrompts is true: the keychain may ask for its password, or whether this program may read an item.
const platformPrompts = true
