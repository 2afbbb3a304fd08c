-- Places stand below zero in the line, as `q`, the mode, the owner and the channel; above it stands
-- until when each is kept, as `k` and the owner.
local function score(place)
    return place - 9007199254740992
end

-- A number as a text, of which Lua itself would lose digits.
local function whole(number)
    return string.format('%.0f', number)
end

-- How long a waiter may sleep whom nobody wakes.
local function retry_after(change, ahead, claim, look, place_ttl)
    return math.floor(math.min(change + claim * ahead, look * (ahead + 1), place_ttl / 3))
end
