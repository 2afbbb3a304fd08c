-- Places stand below zero in the line, as `q`, the mode, the owner and the channel; above it stands
-- until when each is kept, as `k` and the owner.
local function score(place)
    return place - 9007199254740992
end

-- A number as a text, of which Lua itself would lose digits.
local function whole(number)
    return string.format('%.0f', number)
end

local claim, place_ttl, look, max_waiters, max_holders =
    string.match(limits, '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
claim, place_ttl, look = tonumber(claim), tonumber(place_ttl), tonumber(look)
max_waiters, max_holders = tonumber(max_waiters), tonumber(max_holders)

-- How long a waiter may sleep whom nobody wakes.
local function retry_after(change, ahead)
    return math.floor(math.min(change + claim * ahead, look * (ahead + 1), place_ttl / 3))
end
