package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
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
		if box[1] > 15 && box[1] < 40 && box[0] <= x+60 && box[0]+box[2] >= x &&
			box[3] > 60 && box[3] < 500 && box[2] < 400 {
			best = box
		}
	}
	if best[2] == 0 {
		p.fail("no open menu on the screen:\n%s", tree)
	}
	return best
}

// menuOffset is where the middle of an item lies below the upper edge of a menu of a height.
func menuOffset(menu []string, item, height int) int {
	const separator = 11 // the rig's theme draws them so high
	lines := 0
	for _, t := range menu {
		if t == "" {
			lines++
		}
	}
	each := float64(height-lines*separator) / float64(len(menu)-lines)
	at := 0.0
	for _, t := range menu[:item] {
		if t == "" {
			at += separator
		} else {
			at += each
		}
	}
	return int(at + each/2)
}

// choose chooses an item of the status item's menu by the beginning of its title.
func (p *stage) choose(title string) {
	x, y := p.place("status")
	p.clickAt(x, y)
	p.settle() // the menu is drawn
	menu := p.see().Status.Menu
	item := slices.IndexFunc(menu, func(t string) bool { return strings.HasPrefix(t, title) })
	if item < 0 {
		p.fail("no %s in the menu %q", title, menu)
	}
	p.chooseItem(menu, item, p.menuBox())
}

// chooseItem clicks an item of the open menu at box.
func (p *stage) chooseItem(menu []string, item int, box [4]int) {
	p.clickAt(box[0]+box[2]/2, box[1]+menuOffset(menu, item, box[3]))
}
