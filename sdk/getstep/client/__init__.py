"""One team's connection with a contest, from the address that the user gives to the last goodbye.

In: an address, a login and a callback. Out: the results of the matches, and lines for a terminal. It must not know
the rules or the referee: a client can play a game that is not installed here, and only the server decides.

- ``settings``: the address and the login, from arguments, the environment and the saved login.
- ``saved_login``: the file with the login, and what was last seen of that host.
- ``discovery``: servers that announce themselves on this network.
- ``connection``: one connection; its login, and the server's proof.
- ``match``: the lines about one match, and its result.
- ``reconnect``: the pauses between connections, and which goodbyes end them.
- ``client``: the loop over all of these, which is `getstep.play`.

Nothing is imported here: a host's process of a program needs one connection, and none of the rest.
"""
