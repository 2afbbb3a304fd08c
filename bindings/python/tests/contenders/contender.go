// Uses the type Hold of examples/hold/hold.go.
package main

import (
	"bufio"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

type resource struct {
	connection net.Conn
	lines      *bufio.Reader
}

func (to resource) ask(words ...any) string {
	fmt.Fprintln(to.connection, words...)
	answer, err := to.lines.ReadString('\n')
	if err != nil {
		os.Exit(0) // the drill is over
	}
	return strings.TrimSpace(answer)
}

// monotonic is the clock that the others use, too. Go shows no other one.
func monotonic() int64 {
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

// heldAt returns at which moment it was held by the client's own rule.
func heldAt(hold *Hold) (int64, bool) {
	until := hold.Check()
	now, at := time.Now(), monotonic()
	return at, now.Before(until)
}

func use(hold *Hold, place string) bool {
	connection, err := net.Dial("tcp", place)
	if err != nil {
		os.Exit(0)
	}
	defer connection.Close()
	to := resource{connection, bufio.NewReader(connection)}
	token := hold.Token
	at, held := heldAt(hold)
	if held {
		counted := to.ask("held", "go", token, at, at, os.Getpid(), hold.child.Process.Pid)
		if count, err := strconv.Atoi(counted); err == nil {
			to.ask("write", "go", token, count+1)
		}
		at, held = heldAt(hold)
	}
	if held {
		return to.ask("still", "go", token, at, at) == "go"
	}
	return to.ask("lost", "go", token) == "go"
}

func count(hold *Hold, place string) bool {
	counted := must(strconv.Atoi(string(must(os.ReadFile(place + "/count")))))
	if until := hold.Check(); !time.Now().Before(until) {
		log.Fatal("the answer came too late")
	}
	must(0, os.WriteFile(place+"/count", []byte(strconv.Itoa(counted+1)), 0o644))
	tokens := must(os.OpenFile(place+"/tokens", os.O_APPEND|os.O_WRONLY, 0))
	must(fmt.Fprintln(tokens, hold.Token))
	must(0, tokens.Close())
	return true
}

func main() {
	place, turns := os.Args[1], must(strconv.Atoi(os.Args[2]))
	for goesOn, turn := true, 0; goesOn && (turns == 0 || turn < turns); turn++ {
		hold := Acquire("count", "--wait", "120s", "--ttl", os.Args[3]+"s")
		if strings.HasPrefix(place, "/") {
			goesOn = count(hold, place)
		} else {
			goesOn = use(hold, place)
		}
		hold.in.Close() // releases the lock
		hold.child.Wait()
	}
}
