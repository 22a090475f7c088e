import { countText } from '../amounts.ts'

/** Reasons why the next step of a resource waits that no condition and no decision gives. */
export const NEXT_REASONS = {
  controller_down: ({ service }: { service: string }) => `no ${service} is running`,
  controller_without_leader: ({ service }: { service: string }) => `no replica of ${service} is the leader`,
  controller_silent: ({ service }: { service: string }) => `the leader of ${service} does not answer`,
  not_decided_yet: ({ service }: { service: string }) => `${service} has not made a decision yet`,
  waiting_for_ec2: ({ state }: { state: string }) => `waiting for EC2 to report the instance as ${state}`,
  worker_not_running: ({ status }: { status: string }) => `the worker is ${status}`,
  license_not_confirmed: () => 'CML has not confirmed the license change yet',
  drain_deadline: ({ sessions, deadline, spared }: { sessions: number; deadline: string; spared: string | null }) =>
    `${countText(sessions, 'session')} on the worker; the drain ends at ${deadline} at the latest` +
    (spared === null ? '' : `; the worker is protected, so it will not be ${spared}`),
  no_reason_recorded: () => 'no reason is recorded',
}
