package server

import (
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// checkOrigin refuses requests that do not come from this machine's own programs. The listener is on loopback, but a
// page in the user's browser can reach it too: by a name of its own that it lets resolve to loopback (the Host tells),
// or by a request to loopback from its own origin (the Origin, or Sec-Fetch-Site, tells).
func checkOrigin(r *http.Request) error {
	if !loopback(r.Host) {
		return errHost
	}
	for _, o := range r.Header.Values("Origin") {
		u, err := url.Parse(o)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !loopback(u.Host) || o != u.Scheme+"://"+u.Host {
			return errOrigin
		}
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return errOrigin
	}
	return nil
}

// loopback says whether a host, with or without a port, names this machine and nothing else can.
func loopback(host string) bool {
	name := host
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		name = host[:i]
		if _, err := strconv.ParseUint(host[i+1:], 10, 16); err != nil {
			return false
		}
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	if inner, ok := strings.CutPrefix(name, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		return ok && err == nil && a.Zone() == "" && a == netip.IPv6Loopback()
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.Is4() && a.IsLoopback()
}
