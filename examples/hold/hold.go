// Counts in a file under a lock: go run hold.go LOCK FILE TURNS
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"time"
)

type Hold struct {
	Token   uint64 `json:"token_number"`
	Event   string
	Id      string
	Message string
	ValidMs int64 `json:"valid_ms"`
	in      io.WriteCloser
	out     *json.Decoder
	child   *exec.Cmd
}

func Acquire(name string, options ...string) *Hold {
	words := append([]string{"hold", name, "--json", "--parent", fmt.Sprint(os.Getpid())}, options...)
	child := exec.Command("tenure", words...)
	child.Stderr = os.Stderr
	in, out := must(child.StdinPipe()), must(child.StdoutPipe())
	must(0, child.Start())
	hold := &Hold{in: in, out: json.NewDecoder(out), child: child}
	return hold.hear("acquired", "")
}

// hear reads until a line about this event. The program ends if the hold does.
func (hold *Hold) hear(event, id string) *Hold {
	for hold.Event = ""; hold.Event != event || hold.Id != id; {
		hold.Id = ""
		if err := hold.out.Decode(hold); err != nil || hold.Event == "lost" || hold.Event == "busy" {
			log.Fatal("not held: ", hold.Event, " ", hold.Message, " ", err)
		}
	}
	return hold
}

// Check returns until when to count on the lock. The clock of time.Now stands still while the machine sleeps.
func (hold *Hold) Check() time.Time {
	sent := time.Now()
	id := fmt.Sprint(sent.UnixNano()) // finds the answer: that to an earlier check may be unread
	fmt.Fprintln(hold.in, "check", id)
	return sent.Add(time.Duration(hold.hear("checked", id).ValidMs) * time.Millisecond)
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	var turns, count, seen uint64
	for fmt.Sscan(os.Args[3], &turns); turns > 0; turns-- {
		hold := Acquire(os.Args[1], "--wait", "60s")
		must(fmt.Sscan(string(must(os.ReadFile(os.Args[2]))), &count, &seen))
		if hold.Token <= seen {
			log.Fatal("an older holder must not write after a newer one")
		}
		if until := hold.Check(); time.Now().Before(until) {
			must(0, os.WriteFile(os.Args[2], fmt.Appendln(nil, count+1, hold.Token), 0o644))
		}
		hold.in.Close() // releases the lock
		must(0, hold.child.Wait())
	}
}
