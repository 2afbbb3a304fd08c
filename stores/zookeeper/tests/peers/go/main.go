// go-zookeeper's Lock, as its users call it. ../README.md has the protocol.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

func main() {
	address, path := os.Args[2], os.Args[4]
	millis, err := strconv.Atoi(os.Args[3])
	check(err)
	session := time.Duration(millis) * time.Millisecond
	client, _, err := zk.Connect([]string{address}, session, zk.WithLogInfo(false))
	check(err)
	var held *zk.Lock
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch words[0] {
		case "count":
			turns, err := strconv.Atoi(words[1])
			check(err)
			for range turns {
				lock := acquire(client, path)
				text, err := os.ReadFile(words[2])
				check(err)
				number, err := strconv.Atoi(string(text))
				check(err)
				check(os.WriteFile(words[2], []byte(strconv.Itoa(number+1)), 0o600))
				check(lock.Unlock())
			}
			fmt.Println("done")
		case "hold":
			held = acquire(client, path)
			fmt.Println("held", czxid(client, path))
		case "release":
			err := held.Unlock()
			if errors.Is(err, zk.ErrNoNode) {
				fmt.Println("lost")
				continue
			}
			check(err)
			fmt.Println("released")
		}
	}
}

func acquire(client *zk.Conn, path string) *zk.Lock {
	lock := zk.NewLock(client, path, zk.WorldACL(zk.PermAll))
	check(lock.LockWithData([]byte("go")))
	return lock
}

// czxid is the transaction that created the holder's node: the one with the lowest number.
func czxid(client *zk.Conn, path string) int64 {
	children, _, err := client.Children(path)
	check(err)
	first := ""
	for _, child := range children {
		if first == "" || child[len(child)-10:] < first[len(first)-10:] {
			first = child
		}
	}
	_, stat, err := client.Exists(path + "/" + first)
	check(err)
	return stat.Czxid
}

func check(err error) {
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}
