// node-redlock, as scripts/bench-peers runs it. bench/peers/README.md has the protocol.
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import Redis from "ioredis";
import { Redlock } from "@sesamecare-oss/redlock";

const words = Object.fromEntries(
  process.argv.slice(2).filter((word) => word.includes("=")).map((word) => {
    const at = word.indexOf("=");
    return [word.slice(0, at), word.slice(at + 1)];
  }),
);
const number = (key) => Number(words[key]);
const name = (task) => words.prefix + task;
const ttl = number("ttl") || 30_000;
const redlock = new Redlock([new Redis(words.url)]);
// Its README: it says here, too, what it goes on to try again.
redlock.on("error", () => {});

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const ready = async () => {
  console.log("ready");
  await lines.next();
};
const tell = async (result) => {
  console.log(JSON.stringify(result));
  while (!(await lines.next()).done);
  process.exit(0);
};
const now = () => performance.now();
const nanos = () => Number(process.hrtime.bigint());

async function pairs(millis) {
  let [done, errors] = [0, 0];
  const start = now();
  await Promise.all(
    Array.from({ length: number("tasks") }, async (_, task) => {
      while (now() - start < millis) {
        try {
          await (await redlock.acquire([name(task)], ttl)).release();
          done += 1;
        } catch {
          errors += 1;
        }
      }
    }),
  );
  return { pairs: done, errors, seconds: (now() - start) / 1e3 };
}

const bucket = (millis) => Math.floor(Math.log(Math.max(millis * 1e6, 1)) / Math.log(1.1));

async function hot() {
  const [tasks, millis, section] = [number("tasks"), number("millis"), number("section") / 1e3];
  await (await redlock.acquire([name(0)], ttl)).release();
  await ready();
  const grants = Array(tasks).fill(0);
  const waiting = Array(tasks).fill(null);
  const waits = {};
  let [errors, longest] = [0, 0];
  const start = now();
  const all = Promise.all(
    grants.map(async (_, task) => {
      while (now() - start < millis) {
        const asked = now();
        waiting[task] = asked;
        for (;;) {
          try {
            const lock = await redlock.acquire([name(0)], ttl);
            const granted = now();
            while (now() - granted < section);
            longest = Math.max(longest, granted - asked);
            waits[bucket(granted - asked)] = (waits[bucket(granted - asked)] ?? 0) + 1;
            grants[task] += granted - start < millis ? 1 : 0;
            await lock.release();
            break;
          } catch {
            errors += 1;
            if (now() - start >= millis) break;
          }
        }
        waiting[task] = null;
      }
    }),
  );
  await Promise.race([all, sleep(millis + number("grace"))]);
  const late = waiting.filter((since) => since !== null).map((since) => now() - since);
  await tell({
    grants,
    waits,
    longest_us: Math.round(1e3 * Math.max(longest, ...late)),
    errors,
    hung: late.length,
    seconds: millis / 1e3,
  });
}

async function handoff() {
  await (await redlock.acquire([name(0)], ttl)).release();
  await ready();
  const [holds, start, millis] = [[], now(), number("millis")];
  let hung = 1;
  const turns = async () => {
    for (let round = 0; now() - start < millis; round++) {
      try {
        const lock = await redlock.acquire([name(0)], ttl);
        const granted = nanos();
        await sleep(2 + ((round * 37) % 100) / 100);
        holds.push([granted, nanos()]);
        await lock.release();
      } catch {
        // Gave up: it tries again.
      }
      await sleep(1);
    }
    hung = 0;
  };
  await Promise.race([turns(), sleep(millis + number("grace"))]);
  await tell({ holds, hung });
}

async function hold() {
  // Only what runs inside of `using` is extended.
  const keep = (name) =>
    new Promise((held, failed) => {
      redlock.using([name], ttl, () => (held(), new Promise(() => {}))).catch(failed);
    });
  await keep(`${words.prefix}first-${process.pid}`);
  await ready();
  const tasks = number("tasks");
  let [next, held, errors] = [0, 0, false];
  await Promise.all(
    Array.from({ length: Math.min(64, tasks) }, async () => {
      while (next < tasks) {
        const task = next++;
        for (;;) {
          try {
            await keep(name(task));
            held += 1;
            break;
          } catch {
            // Gave up waiting: the holder of this name may be about to die.
            errors = true;
          }
        }
      }
    }),
  );
  await tell({ held, errors });
}

switch (words.work) {
  case "pair":
    await pairs(number("warm"));
    await ready();
    await tell(await pairs(number("millis")));
    break;
  case "hot":
    await hot();
    break;
  case "handoff":
    await handoff();
    break;
  case "hold":
    await hold();
    break;
  default:
    throw new Error(`no such work: ${words.work}`);
}
