import { readFileSync } from 'node:fs'
import { ACTS } from '../acts/act.ts'
import type { Plan } from '../acts/plan.ts'
import { UsageError } from './command-options.ts'

/** Reads the plan that a failed run has written. */
export function readPlan(file: string): Plan {
  const value = readJson(file)
  if (isPlan(value)) return value
  throw unreadablePlan(file, 'not a plan')
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw unreadablePlan(
      file,
      error instanceof SyntaxError ? 'not JSON' : String((error as NodeJS.ErrnoException).code),
    )
  }
}

const unreadablePlan = (file: string, problem: string): UsageError =>
  new UsageError(`sim: ${file} can't be replayed (${problem}): pass a file that a failed run has written.`)

function isPlan(value: unknown): value is Plan {
  const { seed, size, acts } = fieldsOf(value)
  const { workers, hours, pace } = fieldsOf(size)
  const isSized = isNumber(workers) && isNumber(hours) && (pace === 'brisk' || pace === 'long')
  return isNumber(seed) && isSized && Array.isArray(acts) && acts.every(isAct)
}

function isAct(value: unknown): boolean {
  const { act, atMs, target, amount, forMs } = fieldsOf(value)
  return typeof act === 'string' && Object.hasOwn(ACTS, act) && [atMs, target, amount, forMs].every(isNumber)
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

const isNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value)
