// The test bot of docs/conformance.md.

package main

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var sleeps = regexp.MustCompile(`^sleep ([0-9]+)$`)

func testBot(turn *Turn) any {
	switch name := turn.Match.Opponent; name {
	case "raise", "recurse": // Go has no exception for a stack that is full
		panic("conformance")
	case "raise long":
		panic(strings.Repeat("🎲", 2000))
	case "return nothing":
		return nil
	case "return long":
		return make([][2]int, 1000)
	case "tell":
		return append([]any{[]any{turn.TimeLeft.Milliseconds(), turn.MoveNumber}}, squaresOf(turn.LastMove)...)
	default:
		if found := sleeps.FindStringSubmatch(name); found != nil {
			if ms, err := strconv.Atoi(found[1]); err == nil {
				time.Sleep(time.Duration(ms) * time.Millisecond)
			}
		}
	}
	return firstMove(turn)
}

// squaresOf returns the squares of a move in any game.
func squaresOf(move any) (squares []any) {
	parts, _ := move.([]any)
	for _, part := range parts {
		switch part.(type) {
		case []any:
			squares = append(squares, part)
		case int64, uint64:
			return []any{move}
		}
	}
	return squares
}

func firstMove(turn *Turn) any {
	board := turn.Board
	cell := func(r, c int) (int, bool) {
		if r < 0 || r >= len(board) || c < 0 || c >= len(board[r]) {
			return 0, false
		}
		return board[r][c], true
	}
	empty := func(r, c int) bool {
		v, there := cell(r, c)
		return there && v == 0
	}
	own, sign := 2, -1
	if turn.IsBlack {
		own, sign = 1, 1
	}
	for r, row := range board {
		for c, v := range row {
			switch turn.Match.Game {
			case "chain_reaction":
				if v*sign >= 0 {
					return []int{r, c}
				}
			case "hop":
				if v != own {
					continue
				}
				for _, d := range [][2]int{{-1, 0}, {0, -1}, {0, 1}, {1, 0}} {
					if empty(r+d[0], c+d[1]) {
						return [][]int{{r, c}, {r + d[0], c + d[1]}}
					}
				}
			case "linkage":
				if v != 0 {
					continue
				}
				if empty(r, c+1) {
					return []any{"R", []int{r, c}, []int{r, c + 1}}
				}
				if empty(r+1, c) {
					return []any{"R", []int{r, c}, []int{r + 1, c}}
				}
			default:
				if v == 0 {
					return []int{r, c}
				}
			}
		}
	}
	return []int{0, 0}
}

func main() {
	team, err := strconv.ParseInt(os.Getenv("GETSTEP_TEAM"), 10, 32)
	if err != nil || team < 0 || os.Getenv("GETSTEP_HOST") == "" {
		fmt.Fprintln(os.Stderr, "GETSTEP_HOST, GETSTEP_PORT, GETSTEP_TEAM and GETSTEP_TOKEN have to be set")
		os.Exit(2)
	}
	scale, err := strconv.ParseFloat(os.Getenv("GETSTEP_TIME_SCALE"), 64)
	if err != nil || !(scale >= 0.01 && scale <= 1) {
		scale = 1
	}
	client := &Client{
		Address: net.JoinHostPort(os.Getenv("GETSTEP_HOST"), os.Getenv("GETSTEP_PORT")),
		Team:    team,
		Token:   paperToken(os.Getenv("GETSTEP_TOKEN")),
		Name:    "getstep go test client",
		Bot:     testBot,
		Scale:   scale,
	}
	if err := client.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "ended:", show(err.Error()))
		os.Exit(err.(*Ended).Code)
	}
}
