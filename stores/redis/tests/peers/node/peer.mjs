// node-redlock, as its users call it. ../README.md has the protocol.

import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";

import { Redlock } from "@sesamecare-oss/redlock";
import { Redis } from "ioredis";

const [, port, ttl, key] = process.argv.slice(2);
const redlock = new Redlock([new Redis(Number(port))], { retryCount: 10_000, retryDelay: 50, retryJitter: 20 });
redlock.on("error", () => {});
const acquire = () => redlock.acquire([key], Number(ttl));

let held;
async function obey(words) {
  switch (words[0]) {
    case "count":
      for (let turn = 0; turn < Number(words[1]); turn += 1) {
        const lock = await acquire();
        const number = Number(readFileSync(words[2], "utf8"));
        writeFileSync(words[2], String(number + 1));
        await lock.release();
      }
      return "done";
    case "write":
      await write(Number(words[1]), Number(words[2]));
      return "done";
    case "hold":
      held = await acquire();
      return "held";
    case "release":
      // Once: it would try to release a lost lock as often as to take one.
      return redlock.release(held, { retryCount: 0 }).then(() => "released", () => "lost");
  }
}

async function write(turns, resource) {
  const socket = connect(resource, "127.0.0.1").setNoDelay();
  const answers = createInterface({ input: socket })[Symbol.asyncIterator]();
  const ask = async (...words) => {
    socket.write(`${words.join(" ")}\n`);
    return (await answers.next()).value;
  };
  const holder = [process.pid, "-"];
  for (let turn = 0; turn < turns; turn += 1) {
    try {
      const lock = await acquire();
      const number = await ask("open", ...holder);
      if (number !== "refused") {
        await setTimeout(20);
        await ask("write", ...holder, Number(number) + 1);
      }
      await redlock.release(lock, { retryCount: 0 });
    } catch {
      // It was stopped, or its lock was lost: the next turn is another one.
    }
    await setTimeout(100);
  }
  socket.destroy();
}

try {
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(await obey(line.split(" ")));
  }
  process.exit(0);
} catch (error) {
  console.log(`error ${error}`);
  process.exit(1);
}
