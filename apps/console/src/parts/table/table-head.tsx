interface TableHeadProps {
  /** The last may be `Actions`, which is only said to those who can't see that they are. */
  readonly columns: readonly string[]
  /** Whether each has a class, such as `col-status`. */
  readonly isClassed?: boolean
}

export const TableHead = ({ columns, isClassed = false }: TableHeadProps) => (
  <thead>
    <tr>
      {columns.map(column => (
        <th key={column} scope="col" class={isClassed ? `col-${column.toLowerCase()}` : undefined}>
          {column === 'Actions' ? <span class="sr-only">{column}</span> : column}
        </th>
      ))}
    </tr>
  </thead>
)
