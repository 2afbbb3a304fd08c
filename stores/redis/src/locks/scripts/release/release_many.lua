-- Holds that several let go at the same time, each for itself. What is anything else than a hold of
-- one alone is for the larger script, and the answer is none.
local answers = {ARGV[1]}
for index, lock in ipairs(KEYS) do
    local held, answer = redis.pcall('GET', lock), false
    if not held or type(held) == 'string' and string.sub(held, 1, 32) ~= ARGV[index] then
        answer = 0
    elseif type(held) == 'string' and redis.pcall('DEL', lock) == 1 then
        answer = 1
    end
    answers[index + 1] = answer
end
return answers
