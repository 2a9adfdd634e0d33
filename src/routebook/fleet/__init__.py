"""A make-believe RocketMQ fleet: brokers and clients that behave as real ones, over TCP or in virtual time.

scenario, shipped   what is to happen, in a small TOML file     ┐
census, personas    who there is                                │ the same for both
incidents           the timetable of faults, by a seed          │
voice               what a broker says to a NameServer          ┘
run, live_*         over TCP, in real time: `routebook fleet run`
simulation, virtual_*   through the core, in virtual time, with journals and truth: `routebook fleet simulate`
demo                `make demo`
"""
