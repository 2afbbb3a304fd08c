-- Places stand below zero in the line, as `q`, the mode, the owner and the channel; above it stands
-- until when each is kept, as `k` and the owner.
local function score(place)
    return place - 9007199254740992
end

-- A number as a text, of which Lua itself would lose digits.
local function whole(number)
    return string.format('%.0f', number)
end

-- How long a waiter may sleep whom nobody wakes: this many before it are in line, and this many are
-- offered the lock. Where an offer ends, whoever is ahead has likely gone as well.
local function retry_after(change, present, offered, claim, look, place_ttl, counted)
    local step = offered > 0 and claim / 4 or claim
    local together = counted == '1' and 1 or 4
    local patience = look * (math.floor((present + offered) / together) + 1)
    return math.floor(math.min(change + step * present, patience, place_ttl / 3))
end

-- By how much a waiter may be late to ask before what is free is offered past it.
local function lateness(place_ttl, counted)
    return place_ttl / (counted == '1' and 5 or 10)
end

-- Whether a waiter should have asked again long ago. Behind its label and its kind stand when it said
-- that it would, and whether it was passed over before.
local function is_overdue(waiter, place_ttl, counted, now)
    return waiter[ASKS_AT] and not waiter[PASSED] and waiter[ASKS_AT] + lateness(place_ttl, counted) <= now
end

-- Tells a waiter that it comes next; false when that surely reached nobody, though its process heard
-- hints when it last asked. A server of a cluster does not know of the clients of others, and who may
-- not tell it learns nothing.
local function reaches(channel, who, counted)
    if channel == '' then return true end
    local heard = redis.pcall('PUBLISH', channel, who)
    return counted ~= '1' or heard ~= 0
end
