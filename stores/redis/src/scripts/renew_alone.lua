-- Each hold by its own key. What is anything else than a hold of this owner alone, or of another one
-- alone, is for the larger script, and so is what the server refuses.
local answers = {ARGV[1]}
for index, lock in ipairs(KEYS) do
    local owner, ttl = ARGV[2 * index], tonumber(ARGV[2 * index + 1])
    local held, answer = redis.pcall('GET', lock), 'crowd'
    if type(held) == 'string' and string.sub(held, 1, 32) ~= owner then
        answer = 'lost'
    elseif type(held) == 'string' then
        local left = redis.pcall('PTTL', lock)
        if type(left) == 'number' and left >= ttl then
            answer = left
        -- It is below zero when somebody made the lock endless.
        elseif type(left) == 'number' and redis.pcall('PEXPIRE', lock, ttl) == 1 then
            answer = ttl
        end
    end
    answers[index + 1] = answer
end
return answers
