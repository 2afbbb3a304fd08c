// Counts in a file under a lock: node hold.mjs LOCK FILE TURNS
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

class NotHeld extends Error {}

class Hold {
  static async acquire(name, ...options) {
    const hold = new Hold();
    const words = ["hold", name, "--json", "--parent", String(process.pid), ...options];
    hold.child = spawn("tenure", words, { stdio: ["pipe", "pipe", "inherit"] });
    hold.child.on("error", (error) => { hold.failure = error; }); // it cannot be started
    hold.child.stdin.on("error", () => {}); // what it says at its end is in the output
    hold.lines = createInterface({ input: hold.child.stdout })[Symbol.asyncIterator]();
    hold.checks = 0;
    hold.ended = new Promise((resolve) => hold.child.on("close", resolve));
    // A number in JavaScript loses the low bits of a token.
    hold.token = BigInt((await hold.hear("acquired")).token);
    return hold;
  }

  // The next line about this event; the end of a hold throws.
  async hear(event, id) {
    for (;;) {
      const { value, done } = await this.lines.next();
      if (done) throw new NotHeld(this.failure?.message ?? "tenure hold has ended");
      const said = JSON.parse(value);
      if (said.event === event && (said.id ?? undefined) === id) return said;
      if (said.event === "lost" || "exit_code" in said) throw new NotHeld(said.message ?? "the lock was lost");
    }
  }

  // Until when to count on the lock, by performance.now(), which stands still while the machine sleeps. An id finds the
  // answer: that to an earlier check may be unread. One check at a time.
  async check() {
    const id = String(++this.checks);
    const sent = performance.now();
    this.child.stdin.write(`check ${id}\n`);
    const checked = await this.hear("checked", id);
    if (!checked.held) throw new NotHeld("the lock was lost");
    return sent + checked.valid_ms;
  }

  async release() {
    this.child.stdin.end();
    await this.ended;
  }
}

const [lock, path, turns] = process.argv.slice(2);
for (let turn = 0; turn < Number(turns); turn++) {
  const hold = await Hold.acquire(lock, "--wait", "60s");
  try {
    const [count, seen] = readFileSync(path, "utf8").split(" ").map(BigInt);
    if (hold.token <= seen) throw new Error("an older holder must not write after a newer one");
    const until = await hold.check();
    if (performance.now() < until) writeFileSync(path, `${count + 1n} ${hold.token}\n`);
  } finally {
    await hold.release();
  }
}
