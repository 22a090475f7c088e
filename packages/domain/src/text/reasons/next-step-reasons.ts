import { countText, momentText } from '../format-amounts.ts'
import type { NestedReason } from './nested-reason.ts'

interface PipelineProgress {
  readonly step: string
  readonly number: number
  readonly count: number
  /** 1 is not mentioned. */
  readonly attempt: number
  /** Null where nodes are not counted. */
  readonly booted: number | null
  readonly nodes: number | null
  readonly cause: NestedReason | null
}

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
    `${countText(sessions, 'session')} on the worker; the drain ends at ${momentText(deadline)} at the latest` +
    (spared === null ? '' : `; the worker is protected, so it will not be ${spared}`),
  timeslot_not_started: ({ start }: { start: string }) => `the timeslot starts at ${momentText(start)}`,
  session_has_no_worker: () => 'the session has no worker',
  worker_unavailable: ({ worker, status, cause }: { worker: string; status: string; cause: NestedReason }) =>
    `${worker} is ${status}: ${cause.message}`,
  pipeline_between_steps: () => 'the steps of the pipeline are about to start or to end',
  pipeline_progress: ({ step, number, count, attempt, booted, nodes, cause }: PipelineProgress) =>
    `step ${number} of ${count}, ${step}${attempt === 1 ? '' : `, attempt ${attempt}`}` +
    `${booted === null ? '' : `, ${booted} of ${nodes} nodes are up`}${cause === null ? '' : `: ${cause.message}`}`,
  no_reason_recorded: () => 'no reason is recorded',
}
