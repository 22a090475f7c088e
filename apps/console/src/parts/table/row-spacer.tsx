/** Stands for the rows that are not there. It is always there itself, or the body would be made anew when it comes. */
export const RowSpacer = ({ rows, rowPx, columns }: { rows: number; rowPx: number; columns: number }) => (
  <tbody class="spacer" aria-hidden="true">
    {rows > 0 && (
      <tr>
        <td colSpan={columns} style={{ height: `${rows * rowPx}px` }} />
      </tr>
    )}
  </tbody>
)
