-- ARGV: call
give_back(ARGV[3])
return { n, 'ok' }
