package app

import (
	"os"
	"path/filepath"

	"github.com/adrg/xdg"
)

// Environment variables that say where things are.
const (
	EnvConfig  = "IONCLAW_CONFIG"
	EnvDataDir = "IONCLAW_DATA_DIR"
)

// folder is the program's name in the platform's folders.
const folder = "ionclaw"

// Paths says where the program keeps its things. Everything in it is private: files 0600, folders 0700.
type Paths struct {
	Config   string `json:"config"`   // config.yml
	Data     string `json:"data"`     // folder of the database and the encrypted credentials file
	Log      string `json:"log"`      // ionclaw.log
	Instance string `json:"instance"` // instance.json, there while the program runs
}

// Database is the path of the database.
func (p Paths) Database() string { return filepath.Join(p.Data, "ionclaw.db") }

// AgeFile is the path of the encrypted credentials file.
func (p Paths) AgeFile() string { return filepath.Join(p.Data, "credentials.age") }

// DefaultPaths follows the platform's conventions. A given configuration file or data folder, or else IONCLAW_CONFIG
// and IONCLAW_DATA_DIR, comes first. With a data folder of its own, log and instance file live there as well: two
// data folders are two separate programs.
func DefaultPaths(configFile, dataDir string) Paths {
	if configFile == "" {
		configFile = os.Getenv(EnvConfig)
	}
	if configFile == "" {
		configFile = filepath.Join(xdg.ConfigHome, folder, "config.yml")
	}
	if dataDir == "" {
		dataDir = os.Getenv(EnvDataDir)
	}
	p := Paths{Config: absolute(configFile)}
	if dataDir != "" {
		p.Data = absolute(dataDir)
		p.Log = filepath.Join(p.Data, "ionclaw.log")
		p.Instance = filepath.Join(p.Data, "instance.json")
		return p
	}
	p.Data = filepath.Join(xdg.DataHome, folder)
	p.Log = filepath.Join(xdg.StateHome, folder, "ionclaw.log")
	// Without a session (services, containers, a bare root shell) the runtime folder of the platform does not exist.
	if info, err := os.Stat(xdg.RuntimeDir); err == nil && info.IsDir() {
		p.Instance = filepath.Join(xdg.RuntimeDir, folder, "instance.json")
	} else {
		p.Instance = filepath.Join(xdg.StateHome, folder, "instance.json")
	}
	return p
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
