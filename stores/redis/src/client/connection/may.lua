local may = {}
for index = 2, #ARGV do
    -- One that the server does not know is an error, and one without what it wants behind its key.
    local known, permitted = pcall(redis.acl_check_cmd, ARGV[index], ARGV[1], '')
    may[index - 1] = known and permitted and 1 or 0
end
return may
