package rest

import "ionclaw-tray/app"

type credentialList struct {
	Credentials []app.CredentialInfo `json:"credentials"`
}

// credentialKey is a key on its way in, or to the person who asked for it.
type credentialKey struct {
	Key string `json:"key"`
}

type credentialStatus struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

func (a *api) credentials(c *call) (credentialList, error) {
	return credentialList{list(a.core.Credentials(c.ctx()))}, nil
}

func (a *api) setCredential(c *call, body credentialKey) (credentialStatus, error) {
	name, err := c.path("name")
	if err != nil {
		return credentialStatus{}, err
	}
	return credentialStatus{name, "stored"}, a.core.SetCredential(c.ctx(), name, body.Key)
}

func (a *api) generateCredential(c *call) (credentialStatus, error) {
	name, err := c.path("name")
	if err != nil {
		return credentialStatus{}, err
	}
	_, err = a.core.GenerateCredential(c.ctx(), name) // the key stays here
	return credentialStatus{name, "generated"}, err
}

func (a *api) revealCredential(c *call) (credentialKey, error) {
	name, err := c.path("name")
	if err != nil {
		return credentialKey{}, err
	}
	key, err := a.core.RevealCredential(c.ctx(), name)
	return credentialKey{key}, err
}

func (a *api) deleteCredential(c *call) (outcome, error) {
	name, err := c.path("name")
	if err != nil {
		return outcome{}, err
	}
	return outcome{"deleted"}, a.core.DeleteCredential(c.ctx(), name)
}
