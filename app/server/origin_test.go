package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestHost(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:7688": true, "LocalHost:1": true, "127.0.0.1": true, "127.0.0.1:7688": true,
		"127.0.0.2:80": true, "[::1]": true, "[::1]:7688": true, "[0:0:0:0:0:0:0:1]": true,
		"": false, ":11434": false, "evil.example": false, "evil.example:7688": false, "localhost.evil.com": false,
		"localhost.evil.com:7688": false, "127.0.0.1.nip.io": false, "127.0.0.1.nip.io:7688": false, "10.0.0.1": false,
		"0.0.0.0": false, "[::]": false, "[::1": false, "::1": false, "[::1]x": false, "[::1%lo]": false,
		"[::ffff:127.0.0.1]": false, "[fe80::1]:80": false, "localhost:http": false, "localhost:99999": false,
		"localhost:": false, "localhost:1:2": false, "user@localhost": false, "evil.example@localhost": false,
		"localhost/evil": false, " localhost": false, "2130706433": false, "127.1": false, "0x7f.0.0.1": false,
		"localhost.": false, "[127.0.0.1]": false, "xn--localhost": false, "127.0.0.1,evil.example": false,
	} {
		if got := loopback(host); got != want {
			t.Errorf("%q: got %v, want %v", host, got, want)
		}
	}
}

// TestForeignRequests holds that nothing foreign reaches the engine.
func TestForeignRequests(t *testing.T) {
	g := say("Hi")
	r := serve(t, g, nil)
	for _, c := range []struct {
		name   string
		header []string
		status int
	}{
		{"another host", []string{"Host", "evil.example"}, 403},
		{"its port", []string{"Host", "evil.example:7688"}, 403},
		{"only a port", []string{"Host", ":11434"}, 403},
		{"a name that begins well", []string{"Host", "localhost.evil.com"}, 403},
		{"a name that resolves to loopback", []string{"Host", "127.0.0.1.nip.io"}, 403},
		{"another origin", []string{"Origin", "https://evil.example"}, 403},
		{"another origin with text", []string{"Origin", "https://evil.example", "Content-Type", "text/plain"}, 403},
		{"an opaque origin", []string{"Origin", "null"}, 403},
		{"an empty origin", []string{"Origin", ""}, 403},
		{"an origin that begins well", []string{"Origin", "http://localhost.evil.com"}, 403},
		{"an origin with a user", []string{"Origin", "http://localhost@evil.example"}, 403},
		{"an extension", []string{"Origin", "chrome-extension://localhost"}, 403},
		{"an origin with a path", []string{"Origin", "http://localhost/x"}, 403},
		{"another site without origin", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"text", []string{"Content-Type", "text/plain"}, 415},
		{"a form", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"several types", []string{"Content-Type", "text/plain; application/json"}, 415},
		{"another charset", []string{"Content-Type", "application/json; charset=utf-16"}, 415},
		{"compressed", []string{"Content-Encoding", "gzip"}, 415},

		{"no origin", nil, 200},
		{"localhost", []string{"Host", "localhost:7688"}, 200},
		{"IPv6", []string{"Host", "[::1]"}, 200},
		{"a page of this machine", []string{"Origin", "http://localhost:3000", "Sec-Fetch-Site", "same-site"}, 200},
		{"a page of this machine by address", []string{"Origin", "https://127.0.0.1:3000"}, 200},
		{"JSON with its charset", []string{"Content-Type", "application/json; charset=UTF-8"}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := g.asked()
			got := r.chat(t, `{`+hello+`}`, c.header...)
			if got.status != c.status {
				t.Errorf("got %d, want %d: %s", got.status, c.status, got.body)
			}
			if asked := g.asked() - before; asked != 0 != (c.status == 200) {
				t.Errorf("status %d, and the engine was asked %d times", c.status, asked)
			}
			if c.status == 403 {
				for _, path := range []string{"/v1/models", "/health", "/nothing"} {
					if got := r.do(t, http.MethodGet, path, "", c.header...); got.status != 403 {
						t.Errorf("%s: got %d, want 403", path, got.status)
					}
				}
			}
			if h := got.header.Get("Access-Control-Allow-Origin"); h != "" {
				t.Errorf("allows %q", h)
			}
		})
	}
}

// raw sends bytes as they are and returns the status line and the body.
func (r *rig) raw(t *testing.T, request string) (status, body string) {
	t.Helper()
	c := r.dial(t)
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(in) // a reset after the answer is the server's right
	return strings.TrimSpace(line), string(rest)
}

func TestRawRequests(t *testing.T) {
	g := say("Hi")
	r := serve(t, g, nil)
	body := `{` + hello + `}`
	post := func(target, host, version string) string {
		return fmt.Sprintf("POST %s %s\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n"+
			"Connection: close\r\n\r\n%s", target, version, host, len(body), body)
	}
	const path, local, evil = "/v1/chat/completions", "Host: localhost\r\n", "Host: evil.example\r\n"
	for _, c := range []struct{ name, request, want string }{
		{"empty Host", post(path, "Host: \r\n", "HTTP/1.1"), "HTTP/1.1 403 Forbidden"},
		{"no Host", post(path, "", "HTTP/1.1"), "HTTP/1.1 400 Bad Request: missing required Host header"},
		{"no Host in HTTP/1.0", post(path, "", "HTTP/1.0"), "HTTP/1.0 403 Forbidden"},
		{"two Hosts", post(path, local+evil, "HTTP/1.1"), "HTTP/1.1 400 Bad Request"},
		{"another host in the target", post("http://evil.example"+path, local, "HTTP/1.1"), "HTTP/1.1 403 Forbidden"},
		{"an odd path", post("//v1/../v1/chat/completions", evil, "HTTP/1.1"), "HTTP/1.1 403 Forbidden"},
		{"an odd path of our own", post("/"+path, local, "HTTP/1.1"), "HTTP/1.1 404 Not Found"},
		{"a path with more", post(path+"/", local, "HTTP/1.1"), "HTTP/1.1 404 Not Found"},
		{"asterisk", "OPTIONS * HTTP/1.1\r\n" + evil + "Connection: close\r\n\r\n", "HTTP/1.1 403 Forbidden"},
		{
			"CONNECT", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\nConnection: close\r\n\r\n",
			"HTTP/1.1 403 Forbidden",
		},
		{"no HTTP", "hello\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{
			"a long header", "GET /health HTTP/1.1\r\n" + local + "X: " + strings.Repeat("x", 80<<10) + "\r\n\r\n",
			"HTTP/1.1 431 Request Header Fields Too Large",
		},
		{"good", post(path, local, "HTTP/1.1"), "HTTP/1.1 200 OK"},
		{"good in HTTP/1.0", post(path, local, "HTTP/1.0"), "HTTP/1.0 200 OK"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := g.asked()
			status, _ := r.raw(t, c.request)
			if status != c.want {
				t.Errorf("got %q, want %q", status, c.want)
			}
			if asked := g.asked() - before; asked != 0 != strings.HasSuffix(c.want, "OK") {
				t.Errorf("%s, and the engine was asked %d times", status, asked)
			}
		})
	}
}

func TestListensOnLoopbackOnly(t *testing.T) {
	r := serve(t, say("Hi"), nil)
	for _, l := range r.listeners {
		a, ok := l.Addr().(*net.TCPAddr)
		if !ok || !a.IP.IsLoopback() {
			t.Errorf("listens on %v", l.Addr())
		}
	}
	for _, url := range r.urls {
		r.url = url
		if got := r.do(t, http.MethodGet, "/health", ""); got.status != 200 {
			t.Errorf("%s: %d", url, got.status)
		}
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(r.listeners[0].Addr().String())
	for _, a := range addresses {
		ip := a.(*net.IPNet).IP
		if ip.IsLoopback() || ip.IsLinkLocalUnicast() {
			continue
		}
		dialer := net.Dialer{Timeout: time.Second}
		if c, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort(ip.String(), port)); err == nil {
			c.Close()
			t.Errorf("%v answers", ip)
		}
	}
}

func TestPortTaken(t *testing.T) {
	r := serve(t, say("Hi"), nil)
	port := r.listeners[0].Addr().(*net.TCPAddr).Port
	_, err := New(Config{}).Listen(t.Context(), port)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("port %d is taken", port)) {
		t.Errorf("got %v", err)
	}
	var lc net.ListenConfig
	six, err := lc.Listen(t.Context(), "tcp6", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 on this machine")
	}
	defer six.Close()
	port = six.Addr().(*net.TCPAddr).Port
	s := New(Config{})
	if _, err := s.Listen(t.Context(), port); err == nil || !strings.Contains(err.Error(), "is taken") {
		t.Errorf("half taken: got %v", err)
	}
	four, err := lc.Listen(t.Context(), "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Errorf("the other half is not given back: %v", err)
	} else {
		four.Close()
	}
}
