package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// inBulk merges statements that do the same to different rows, because for
// PostgreSQL a statement costs more than a row. A merged statement is executed in
// the place of the first of them. The order among such statements does not
// matter.
func inBulk(list []statement) ([]statement, error) {
	merged := make([]statement, 0, len(list))
	same := map[string][]statement{}
	for _, s := range list {
		if s.bulk == "" {
			merged = append(merged, s)
			continue
		}
		if same[s.bulk] == nil {
			merged = append(merged, s)
		}
		same[s.bulk] = append(same[s.bulk], s)
	}
	for i, s := range merged {
		many := same[s.bulk]
		if s.bulk == "" || len(many) == 1 {
			continue
		}
		records, err := toRecords(many)
		if err != nil {
			return nil, err
		}
		merged[i] = statement{sql: s.bulk, args: []any{records}, rows: int64(len(many))}
	}
	return merged, nil
}

// toRecords encodes the rows of statements as a JSON list.
func toRecords(list []statement) (string, error) {
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		for j, v := range plainArgs(s.args[:len(s.columns)]) {
			if j > 0 {
				b = append(b, ',')
			}
			b = append(append(append(b, '"'), s.columns[j]...), '"', ':')
			switch v := v.(type) {
			case nil:
				b = append(b, "null"...)
			case int64:
				b = strconv.AppendInt(b, v, 10)
			case bool:
				b = strconv.AppendBool(b, v)
			case string:
				text, err := json.Marshal(v)
				if err != nil {
					return "", err
				}
				b = append(b, text...)
			default:
				return "", fmt.Errorf("column %s is a %T", s.columns[j], v)
			}
		}
		b = append(b, '}')
	}
	return string(append(b, ']')), nil
}

// bulkInsert returns the bulk form of an INSERT of these columns.
func bulkInsert(table, columns string) string {
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %[2]s FROM json_populate_recordset(CAST(NULL AS %[1]s), CAST($1 AS JSON))", table, columns)
}

// bulkUpdate returns the bulk form of an UPDATE of rows by id. The rows must be
// locked by the transaction, because their versions are not compared.
func bulkUpdate(table string, columns []string) string {
	set := make([]string, len(columns))
	for i, c := range columns {
		set[i] = c + " = new." + c
	}
	return fmt.Sprintf("UPDATE %s SET %s FROM json_populate_recordset(CAST(NULL AS %[1]s), CAST($1 AS JSON)) AS new WHERE %[1]s.id = new.id",
		table, strings.Join(set, ", "))
}

// columnNames splits a list of columns into their names.
func columnNames(list string) []string {
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return slices.Clip(names)
}
