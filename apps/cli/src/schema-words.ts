import type { LabFileIssue } from '@lcm/domain/lablet/lab-file'

type Issue = LabFileIssue

/** What a schema refuses, a line for each field, in the words that the API has for topologies. `whole`: where no field is to blame. */
export const complaintsOf = (issues: readonly Issue[], whole: string): string[] =>
  issues.flatMap(issue =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map(key => `${[...issue.path, key].join('.')}: LCM knows nothing of this name here`)
      : [`${issue.path.join('.') || whole}: ${isMissing(issue) ? missingText(issue) : issue.message}`],
  )

/** Whether it is wrong only by not being there. */
export const isMissing = (issue: Issue): boolean =>
  issue.code === 'invalid_type' && issue.message.endsWith('received undefined')

const missingText = (issue: Issue): string =>
  issue.code === 'invalid_type'
    ? `it is missing, ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`
    : issue.message
