<?php
// Counts in a file under a lock: php hold.php LOCK FILE TURNS

class NotHeld extends Exception {}

class Hold
{
    public readonly int $token;
    private $child;
    private array $pipes;
    private int $checks = 0;

    public function __construct(string $name, string ...$options)
    {
        $words = ['tenure', 'hold', $name, '--json', '--parent', (string) getmypid(), ...$options];
        $this->child = proc_open($words, [['pipe', 'r'], ['pipe', 'w'], STDERR], $this->pipes)
            ?: throw new NotHeld('tenure cannot be started');
        $this->token = $this->hear('acquired')['token_number'];
    }

    /** The next line about this event; the end of a hold throws. */
    private function hear(string $event, ?string $id = null): array
    {
        while (($line = fgets($this->pipes[1])) !== false) {
            $said = json_decode($line, true, flags: JSON_THROW_ON_ERROR);
            if ($said['event'] === $event && ($said['id'] ?? null) === $id) {
                return $said;
            }
            if ($said['event'] === 'lost' || isset($said['exit_code'])) {
                throw new NotHeld($said['message'] ?? 'the lock was lost');
            }
        }
        throw new NotHeld('tenure hold has ended');
    }

    /** Until when to count on the lock, by hrtime(), which stands still while the machine sleeps. An id finds the answer. */
    public function check(): int
    {
        $id = (string) ++$this->checks;
        $sent = hrtime(true);
        @fwrite($this->pipes[0], "check $id\n");
        $checked = $this->hear('checked', $id);
        if (!$checked['held']) {
            throw new NotHeld('the lock was lost');
        }
        return $sent + $checked['valid_ms'] * 1_000_000;
    }

    public function release(): void
    {
        fclose($this->pipes[0]);
        proc_close($this->child);
    }
}

[, $lock, $path, $turns] = $argv;
for ($turn = 0; $turn < (int) $turns; $turn++) {
    $hold = new Hold($lock, '--wait', '60s');
    try {
        [$count, $seen] = array_map('intval', explode(' ', file_get_contents($path)));
        if ($hold->token <= $seen) throw new NotHeld('a newer holder wrote');
        $until = $hold->check();
        if (hrtime(true) < $until) file_put_contents($path, $count + 1 . " $hold->token\n");
    } finally {
        $hold->release();
    }
}
