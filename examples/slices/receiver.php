<?php
// The webhook of receiver.py in PHP 7 or newer, for any web server, or by itself:
//
//     php -S 127.0.0.1:8903 receiver.php
//
// A slice takes a second, or as many as SLICE in the environment says.

$wanted = json_decode(file_get_contents('php://input'), true);
$at = json_decode($_SERVER['HTTP_NIGHTSHIFT_CHECKPOINT'] ?? 'null', true) ?? ['done' => 0, 'words' => 0];
$end = microtime(true) + (float) (getenv('SLICE') ?: 1);
while ($at['done'] < $wanted['articles']) {
    usleep(10000); // the work
    $at = ['done' => $at['done'] + 1, 'words' => $at['words'] + 250];
    if (microtime(true) >= $end) {
        break;
    }
}
header('Content-Type: application/json');
if ($at['done'] < $wanted['articles']) {
    header('Nightshift-Continue: true');
    $progress = ['done' => $at['done'], 'total' => $wanted['articles'], 'note' => "{$at['words']} words"];
    echo json_encode(['checkpoint' => $at, 'progress' => $progress]);
} else {
    echo json_encode(['articles' => $at['done'], 'words' => $at['words']]);
}
