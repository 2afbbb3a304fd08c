// A web server with one child for all its locks: node server.mjs PORT FOLDER. POST /NAME counts in FOLDER/NAME.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

class NotHeld extends Error {}
const LAST = ["lost", "released", "release_failed", "given_up"];

class Holds {
  names = 0;
  // One that ends is replaced at the next lock, and all its holds are lost.
  start() {
    const words = ["hold", "--multiplex", "--json", "--parent", String(process.pid)];
    const [child, holds] = [spawn("tenure", words, { stdio: ["pipe", "pipe", "inherit"] }), new Map()];
    this.child = { holds, say: (command) => child.stdin.write(`${JSON.stringify(command)}\n`) };
    child.on("error", (error) => console.error(`tenure: ${error.message}`));
    child.stdin.on("error", () => {}); // its end is seen in the output
    createInterface({ input: child.stdout }).on("line", (line) => {
      const said = JSON.parse(line);
      const answers = holds.get(said.hold);
      const [answered, failed] = answers?.get(said.id ?? said.event) ?? [];
      const refused = said.event === "refused";
      refused ? failed?.(new Error(said.message)) : answered?.(said);
      // Its last line, or its request was refused.
      if (!LAST.includes(said.event) && !("exit_code" in said) && !(refused && said.id === undefined)) return;
      holds.delete(said.hold);
      for (const [, failed] of answers?.values() ?? []) failed(new NotHeld(said.message ?? said.event));
    });
    child.on("close", () => {
      this.child = undefined;
      for (const answers of holds.values()) for (const [, failed] of answers.values()) failed(new NotHeld("tenure hold has ended"));
      holds.clear();
    });
    return this.child;
  }
  async acquire(lock, options = {}) {
    const { holds, say } = this.child ?? this.start();
    const [hold, answers, command] = [String(++this.names), new Map(), { command: "acquire", lock, ...options }];
    let checks = 0;
    // The answer to this id or event. One that does not come within the time fails.
    const ask = (command, key, ms) => new Promise((answered, failed) => {
      if (!holds.has(hold)) return failed(new NotHeld("the lock is not held"));
      const timer = setTimeout(() => failed(new NotHeld(`no answer to ${command.command}`)), ms);
      const end = (then) => (value) => (clearTimeout(timer), answers.delete(key), then(value));
      answers.set(key, [end(answered), end(failed)]);
      say({ ...command, hold });
    });
    holds.set(hold, answers);
    const release = async () => { if (holds.has(hold)) await ask({ command: "release" }, "released", 10_000); };
    const asked = ask(command, "acquired", (options.wait_ms ?? 60_000) + 5_000);
    const { token } = await asked.catch((error) => release().catch(() => {}).then(() => { throw error; }));
    // Until when to count on the lock, by performance.now(): from when the check was sent.
    const check = async () => {
      const [sent, id] = [performance.now(), ++checks];
      const checked = await ask({ command: "check", id }, id, 5_000);
      if (!checked.held) throw new NotHeld("the lock was lost");
      return sent + checked.valid_ms;
    };
    return { token: BigInt(token), check, release };
  }
}

import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const [port, folder] = process.argv.slice(2);
const holds = new Holds();
const server = createServer(async (request, response) => {
  const answer = (status, text) => response.writeHead(status).end(`${text}\n`);
  const name = request.url.slice(1);
  if (request.method !== "POST" || !/^[a-z0-9]{1,32}$/.test(name)) return answer(404, "POST /NAME");
  try {
    const hold = await holds.acquire(name, { wait_ms: 20_000 });
    try {
      let [count, seen] = [0n, 0n];
      try { [count, seen] = readFileSync(`${folder}/${name}`, "utf8").split(" ").map(BigInt); } catch {}
      if (hold.token <= seen) throw new Error("an older holder must not write after a newer one");
      const until = await hold.check();
      if (performance.now() >= until) throw new NotHeld("the lock was lost");
      writeFileSync(`${folder}/${name}`, `${count + 1n} ${hold.token}\n`);
      answer(200, count + 1n);
    } finally {
      await hold.release();
    }
  } catch (error) {
    if (!response.headersSent) answer(error instanceof NotHeld ? 503 : 500, error.message);
  }
});
server.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
