local claim, place_ttl, look, max_waiters, max_holders, counted =
    string.match(limits, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d)$')
claim, place_ttl, look = tonumber(claim), tonumber(place_ttl), tonumber(look)
max_waiters, max_holders = tonumber(max_waiters), tonumber(max_holders)
