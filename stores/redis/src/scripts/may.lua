local may = {}
for index, command in ipairs(ARGV) do
    -- One that the server does not know is an error.
    local known, permitted = pcall(redis.acl_check_cmd, command, KEYS[1])
    may[index] = known and permitted and 1 or 0
end
return may
