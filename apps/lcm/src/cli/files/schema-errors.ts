import type { LabFileIssue } from '@lcm/domain/lab/lab-file'
import { issueWords } from '@lcm/domain/text/schema-issue-words'

/** Schema errors, one line per field. `whole` names the document if no field is at fault. */
export const complaintsOf = (issues: readonly LabFileIssue[], whole: string): string[] =>
  issues.flatMap(issue =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map(key => `${[...issue.path, key].join('.')}: unknown field`)
      : [`${issue.path.join('.') || whole}: ${issueWords(issue)}`],
  )
