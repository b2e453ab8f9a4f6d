package main

import (
	"regexp"
	"strconv"
)

var override = regexp.MustCompile(`(?m)^ +0x[0-9a-f]+ .*?(\d+)x(\d+)\+-?\d+\+-?\d+ +\+(\d+)\+(\d+)$`)

// menuBox finds the open menu: the window under the pointer's status item.
func (p *stage) menuBox() [4]int {
	x, _ := p.place("status")
	tree, err := p.x.do("xwininfo", "-root", "-tree")
	p.must(err)
	best := [4]int{}
	for _, m := range override.FindAllStringSubmatch(tree, -1) {
		var n [4]int
		for i := range n {
			n[i], err = strconv.Atoi(m[i+1])
			p.must(err)
		}
		box := [4]int{n[2], n[3], n[0], n[1]}
		if box[1] > 15 && box[1] < 40 && box[0] <= x+60 && box[0]+box[2] >= x && box[3] > 60 && box[3] < 500 && box[2] < 400 {
			best = box
		}
	}
	if best[2] == 0 {
		p.fail("no open menu on the screen:\n%s", tree)
	}
	return best
}
