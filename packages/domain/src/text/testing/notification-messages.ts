/** Every message as people read it, by what the test says about it. */
export const MESSAGES: Readonly<Record<string, string>> = {
  'about capacity_short': `Your lab OSPF basics waits for capacity
The limit of 2 workers in us-east-1 is reached.
It starts as soon as a server has capacity. You get a message when it is ready.
https://lcm.example.com/#/sessions/ls-1

Lab OSPF basics of Ann waits for capacity
The limit of 2 workers in us-east-1 is reached.
Raise max_workers_per_region, or end sessions that are not needed.
https://lcm.example.com/#/sessions/ls-1

3 OSPF basics labs wait for capacity
The limit of 2 workers in us-east-1 is reached.
Raise max_workers_per_region, or end sessions that are not needed.
Ann: OSPF basics, until 11:00 UTC
Bob: OSPF basics, until 11:00 UTC
Eve: OSPF basics, until 11:00 UTC
https://lcm.example.com/#/sessions`,
  'about licenses': `The license of metal-1 was not returned
Its machine was terminated outside LCM.
Remove it in Smart Software Manager, then run \`lcm resolve leak ID\`; \`lcm get leaks\` shows the ids.
https://lcm.example.com/#/overview

2 licenses were not returned
metal-1: Its machine was terminated outside LCM.
metal-2: Its machine was terminated outside LCM.
Remove it in Smart Software Manager, then run \`lcm resolve leak ID\`; \`lcm get leaks\` shows the ids.
https://lcm.example.com/#/overview`,
  'about session_degraded': `Your lab OSPF basics has a problem
CML on metal-1 is not available.
It may still work, and it stays reserved for you until 11:00 UTC. You get a message when the problem is over.
https://lcm.example.com/#/sessions/ls-1

Lab OSPF basics of Ann is degraded
CML on metal-1 is not available.
See \`lcm why worker metal-1\`; the labs may still run, so LCM does not move them by itself.
https://lcm.example.com/#/sessions/ls-1

3 OSPF basics labs are degraded
CML on metal-1 is not available.
See \`lcm why worker metal-1\`; the labs may still run, so LCM does not move them by itself.
Ann: OSPF basics, until 11:00 UTC
Bob: OSPF basics, until 11:00 UTC
Eve: OSPF basics, until 11:00 UTC
https://lcm.example.com/#/sessions`,
  'about session_down': `Your lab OSPF basics is not available
metal-1 is STOPPED.
You don't need to do anything: you get a message when it works again.
https://lcm.example.com/#/sessions/ls-1

Lab OSPF basics of Ann is down
metal-1 is STOPPED.
Nothing to do: LCM starts the labs again when metal-1 is running.
https://lcm.example.com/#/sessions/ls-1

3 OSPF basics labs are down
metal-1 is STOPPED.
Nothing to do: LCM starts the labs again when metal-1 is running.
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
  'about session_lost': `Your lab OSPF basics ended early
metal-1 is TERMINATED.
Book another session to continue.
https://lcm.example.com/#/sessions/ls-1

Lab OSPF basics of Ann ended early
metal-1 is TERMINATED.
https://lcm.example.com/#/sessions/ls-1

3 OSPF basics labs ended early
metal-1 is TERMINATED.
Ann: OSPF basics, until 11:00 UTC
Bob: OSPF basics, until 11:00 UTC
Eve: OSPF basics, until 11:00 UTC
https://lcm.example.com/#/sessions`,
  'about session_moved': `Your lab OSPF basics moves to another server
metal-1 is TERMINATED.
It starts there from your last save, if there is one. You get a message when it is ready; its addresses will change.
https://lcm.example.com/#/sessions/ls-1

Lab OSPF basics of Ann moves to another worker
metal-1 is TERMINATED.
LCM starts the labs again on other workers, from their last saves.
https://lcm.example.com/#/sessions/ls-1

3 OSPF basics labs move to another worker
metal-1 is TERMINATED.
LCM starts the labs again on other workers, from their last saves.
Ann: OSPF basics, until 11:00 UTC
Bob: OSPF basics, until 11:00 UTC
Eve: OSPF basics, until 11:00 UTC
https://lcm.example.com/#/sessions`,
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
https://lcm.example.com/#/sessions/ls-0`,
  'about workers': `Worker metal-1 is not available
The worker is FAILED.
See \`lcm why worker metal-1\`; LCM moves the sessions if the worker stays down and another one has capacity.
https://lcm.example.com/#/workers/w-metal-1

2 workers are not available
metal-1: The worker is FAILED.
metal-2: The worker is FAILED.
See \`lcm doctor\`, or \`lcm why worker ID\` for one of them.
https://lcm.example.com/#/workers

Worker metal-1 works again
https://lcm.example.com/#/workers/w-metal-1`,
  'says when a lab is ready again on another server': `Your lab OSPF basics is ready again, until 11:00 UTC
It runs on another server now, so its addresses have changed.
Open the session to connect to its devices.
https://lcm.example.com/#/sessions/ls-1`,
  'says when a lab never started': `Your lab OSPF basics could not be started
The timeslot is over.
Book another session to continue.
https://lcm.example.com/#/sessions/ls-1`,
}
