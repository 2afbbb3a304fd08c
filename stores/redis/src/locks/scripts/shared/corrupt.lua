local function senseless()
    return {string.sub(ARGV[1], 1, 32), 'corrupt'}
end
