import type { LabFileIssue } from '@lcm/domain/lab/lab-file'
import { issueWords } from '@lcm/domain/text/issue-words'

/** What a schema refuses, a line for each field, in the words of the API. `whole`: where no field is to blame. */
export const complaintsOf = (issues: readonly LabFileIssue[], whole: string): string[] =>
  issues.flatMap(issue =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map(key => `${[...issue.path, key].join('.')}: LCM knows nothing of this name here`)
      : [`${issue.path.join('.') || whole}: ${issueWords(issue)}`],
  )
