/** Every message as people read it, by what the test says about it. */
export const MESSAGES: Readonly<Record<string, string>> = {
  'about session_ready': `Your lab OSPF basics is ready until 11:00 UTC
Open the session to connect to its devices.
https://lcm.example.com/#/sessions/ls-1

Lab OSPF basics of Ann is ready until 11:00 UTC
https://lcm.example.com/#/sessions/ls-1

3 OSPF basics labs are ready
Ann: OSPF basics, until 11:00 UTC
Bob: OSPF basics, until 11:00 UTC
Eve: OSPF basics, until 11:00 UTC
https://lcm.example.com/#/sessions`,
  'about session_at_risk': `Your lab OSPF basics may not start at 09:00 UTC
Reason: the capacity that it was promised is gone
LCM keeps looking for capacity. To be sure, book another time, or ask the people who run LCM.
https://lcm.example.com/#/sessions/ls-1

Lab OSPF basics of Ann may not start at 09:00 UTC
Reason: the capacity that it was promised is gone: no template is enabled
→ see \`lcm doctor\` for what brings the capacity back
https://lcm.example.com/#/sessions/ls-1

3 OSPF basics labs may not start in time
Reason: the capacity that it was promised is gone: no template is enabled
→ see \`lcm doctor\` for what brings the capacity back
Ann: OSPF basics, at 09:00 UTC
Bob: OSPF basics, at 09:00 UTC
Eve: OSPF basics, at 09:00 UTC
https://lcm.example.com/#/sessions`,
  'about session_degraded': `Your lab OSPF basics has a problem
Reason: CML on metal-1 is not available
It may still work, and it stays reserved for you until 11:00 UTC. You get a message when the problem is over.
https://lcm.example.com/#/sessions/ls-1

Lab OSPF basics of Ann is degraded
Reason: CML on metal-1 is not available
→ see \`lcm why worker metal-1\`; the labs may still run, so LCM does not move them by itself
https://lcm.example.com/#/sessions/ls-1

3 OSPF basics labs are degraded
Reason: CML on metal-1 is not available
→ see \`lcm why worker metal-1\`; the labs may still run, so LCM does not move them by itself
Ann: OSPF basics, until 11:00 UTC
Bob: OSPF basics, until 11:00 UTC
Eve: OSPF basics, until 11:00 UTC
https://lcm.example.com/#/sessions`,
  'about session_down': `Your lab OSPF basics is not available
Reason: metal-1 is STOPPED
You don't need to do anything: you get a message when it works again.
https://lcm.example.com/#/sessions/ls-1

Lab OSPF basics of Ann is down
Reason: metal-1 is STOPPED
→ LCM starts the labs again when metal-1 is running; if that takes long, see \`lcm why worker metal-1\`, or move the sessions
https://lcm.example.com/#/sessions/ls-1

3 OSPF basics labs are down
Reason: metal-1 is STOPPED
→ LCM starts the labs again when metal-1 is running; if that takes long, see \`lcm why worker metal-1\`, or move the sessions
Ann: OSPF basics, until 11:00 UTC
Bob: OSPF basics, until 11:00 UTC
Eve: OSPF basics, until 11:00 UTC
https://lcm.example.com/#/sessions`,
  'about session_moved': `Your lab OSPF basics moves to another server
Reason: metal-1 is TERMINATED
It starts there from your last save, if there is one. You get a message when it is ready; its addresses will change.
https://lcm.example.com/#/sessions/ls-1

Lab OSPF basics of Ann moves to another worker
Reason: metal-1 is TERMINATED
LCM starts the labs again on other workers, from their last saves.
https://lcm.example.com/#/sessions/ls-1

3 OSPF basics labs move to another worker
Reason: metal-1 is TERMINATED
LCM starts the labs again on other workers, from their last saves.
Ann: OSPF basics, until 11:00 UTC
Bob: OSPF basics, until 11:00 UTC
Eve: OSPF basics, until 11:00 UTC
https://lcm.example.com/#/sessions`,
  'about session_lost': `Your lab OSPF basics ended early
Reason: metal-1 is TERMINATED
Book another session to continue.
https://lcm.example.com/#/sessions/ls-1

Lab OSPF basics of Ann ended early
Reason: metal-1 is TERMINATED
https://lcm.example.com/#/sessions/ls-1

3 OSPF basics labs ended early
Reason: metal-1 is TERMINATED
Ann: OSPF basics, until 11:00 UTC
Bob: OSPF basics, until 11:00 UTC
Eve: OSPF basics, until 11:00 UTC
https://lcm.example.com/#/sessions`,
  'about session_ends_soon': `Your lab OSPF basics ends at 11:00 UTC
Save your work now, or extend the session if you need more time.
https://lcm.example.com/#/sessions/ls-1

Lab OSPF basics of Ann ends at 11:00 UTC
https://lcm.example.com/#/sessions/ls-1

3 OSPF basics labs end at 11:00 UTC
Ann: OSPF basics, until 11:00 UTC
Bob: OSPF basics, until 11:00 UTC
Eve: OSPF basics, until 11:00 UTC
https://lcm.example.com/#/sessions`,
  'to an owner whose lab was stopped on CML': `Your lab OSPF basics is stopped
Reason: CML reports the lab as STOPPED: it was stopped on CML while its worker was running
You can start it again in CML. It stays reserved for you until 11:00 UTC.
https://lcm.example.com/#/sessions/ls-1`,
  'to an owner whose lab is late': `Your lab OSPF basics is late
Reason: the timeslot has started and the lab is not ready: step start
LCM is still starting it. You get a message when it is ready.
https://lcm.example.com/#/sessions/ls-1`,
  'to an owner whose lab fits on no machine': `Your lab OSPF basics can't be started yet
Reason: no machine can run this lab
Ask the people who run LCM. You get a message when it is ready.
https://lcm.example.com/#/sessions/ls-1`,
  'about capacity_short': `Your lab OSPF basics waits for capacity
Reason: no machine is free yet
It starts as soon as a server has capacity. You get a message when it is ready.
https://lcm.example.com/#/sessions/ls-1

Lab OSPF basics of Ann waits for capacity
Reason: the limit of 2 workers in us-east-1 is reached
→ raise max_workers_per_region, or end sessions that are not needed
https://lcm.example.com/#/sessions/ls-1

3 OSPF basics labs wait for capacity
Reason: the limit of 2 workers in us-east-1 is reached
→ raise max_workers_per_region, or end sessions that are not needed
Ann: OSPF basics, until 11:00 UTC
Bob: OSPF basics, until 11:00 UTC
Eve: OSPF basics, until 11:00 UTC
https://lcm.example.com/#/sessions`,
  'about workers': `Worker metal-1 is not available
Reason: the worker is FAILED
→ see \`lcm why worker metal-1\`; LCM moves the sessions if the worker stays down and another one has capacity
https://lcm.example.com/#/workers/w-metal-1

2 workers are not available
metal-1: the worker is FAILED
metal-2: the worker is FAILED
See \`lcm doctor\`, or \`lcm why worker ID\` for one of them.
https://lcm.example.com/#/workers

The problem of worker metal-1 is over
https://lcm.example.com/#/workers/w-metal-1`,
  'about licenses': `The license of metal-1 was not returned
Reason: its machine was terminated outside LCM
Remove it in Smart Software Manager, then run \`lcm resolve leak ID\`; \`lcm get leaks\` shows the ids.
https://lcm.example.com/#/overview

2 licenses were not returned
metal-1: its machine was terminated outside LCM
metal-2: its machine was terminated outside LCM
Remove it in Smart Software Manager, then run \`lcm resolve leak ID\`; \`lcm get leaks\` shows the ids.
https://lcm.example.com/#/overview`,
  'about warnings': `Most of a budget is used
Reason: most of the budget of $100.00 for the day 2026-01-02 is used: $60.00 is spent and $30.00 is committed to running machines and disks
→ raise it with \`lcm set setting budget_usd_per_day AMOUNT\`, or start a worker yourself with \`lcm start worker\`
https://lcm.example.com/#/overview

A budget is used up
Reason: the budget of $100.00 for the day 2026-01-02 is used up: $60.00 is spent and $30.00 is committed to running machines and disks
→ raise it with \`lcm set setting budget_usd_per_day AMOUNT\`, or start a worker yourself with \`lcm start worker\`
https://lcm.example.com/#/overview

The budget is no longer short
https://lcm.example.com/#/overview

More is booked than the limits allow
Reason: Fri 2026-01-02 09:00 UTC needs 12 workers, and max_workers_per_region is 10: 8 booked sessions would wait for capacity
→ raise it with \`lcm set setting budget_usd_per_day AMOUNT\`, or start a worker yourself with \`lcm start worker\`
https://lcm.example.com/#/overview

The limits suffice for what is booked again
https://lcm.example.com/#/overview`,
  'about what is over': `Lab OSPF basics of Ann works again
https://lcm.example.com/#/sessions/ls-0

Lab OSPF basics of Ann no longer waits for capacity
LCM has found a worker for it.
https://lcm.example.com/#/sessions/ls-0

20 OSPF basics labs work again
https://lcm.example.com/#/sessions

20 OSPF basics labs no longer wait for capacity
LCM has found a worker for them.
https://lcm.example.com/#/sessions

Your lab OSPF basics works again
https://lcm.example.com/#/sessions/ls-0

Your lab OSPF basics no longer waits for capacity
LCM has found a worker for it.
https://lcm.example.com/#/sessions/ls-0

Your lab OSPF basics has capacity again
https://lcm.example.com/#/sessions/ls-0

20 OSPF basics labs have capacity again
https://lcm.example.com/#/sessions`,
  'says when a lab is ready again on another server': `Your lab OSPF basics is ready again, until 11:00 UTC
It runs on another server now, so its addresses have changed.
Open the session to connect to its devices.
https://lcm.example.com/#/sessions/ls-1`,
  'says when a lab never started': `Your lab OSPF basics could not be started
Reason: the timeslot is over
Book another session to continue.
https://lcm.example.com/#/sessions/ls-1`,
}
