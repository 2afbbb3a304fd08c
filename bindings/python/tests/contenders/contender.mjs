// Follows the class Hold of examples/hold/hold.mjs. Lines of the resource are asked one at a time.
import { connect } from "node:net";
import { appendFileSync } from "node:fs";

const [place, allTurns, ttl] = process.argv.slice(2);

async function dial() {
  const [host, port] = place.split(":");
  const socket = connect(Number(port), host);
  socket.on("error", () => process.exit(0));
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  return {
    async ask(...words) {
      socket.write(`${words.join(" ")}\n`);
      const { value, done } = await lines.next();
      if (done) process.exit(0);
      return value;
    },
    end: () => socket.destroy(),
  };
}

// At which moment it was held by the client's own rule, or undefined.
async function heldAt(hold) {
  try {
    const until = await hold.check();
    const [now, at] = [performance.now(), process.hrtime.bigint()];
    return now < until ? at : undefined;
  } catch (error) {
    if (error instanceof NotHeld) return undefined;
    throw error;
  }
}

async function use(hold) {
  const resource = await dial();
  let at = await heldAt(hold);
  if (at !== undefined) {
    const pids = `${process.pid} ${hold.child.pid}`;
    const counted = await resource.ask("held", "node", hold.token, at, at, pids);
    if (counted !== "late") await resource.ask("write", "node", hold.token, Number(counted) + 1);
    at = await heldAt(hold);
  }
  const answer = at === undefined
    ? await resource.ask("lost", "node", hold.token)
    : await resource.ask("still", "node", hold.token, at, at);
  resource.end();
  return answer === "go";
}

async function count(hold) {
  const counted = Number(readFileSync(`${place}/count`, "utf8"));
  if (performance.now() >= (await hold.check())) throw new NotHeld("the answer came too late");
  writeFileSync(`${place}/count`, String(counted + 1));
  appendFileSync(`${place}/tokens`, `${hold.token}\n`);
  return true;
}

for (let goesOn = true, turn = 0; goesOn && (allTurns === "0" || turn < Number(allTurns)); turn++) {
  const hold = await Hold.acquire("count", "--wait", "120s", "--ttl", `${ttl}s`);
  goesOn = await (place.startsWith("/") ? count(hold) : use(hold));
  await hold.release();
}
